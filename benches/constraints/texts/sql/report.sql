SELECT a.name, COUNT(*) AS n, SUM(b.price * (1 - b.discount)) AS total
FROM authors AS a LEFT JOIN books AS b ON a.id = b.author_id
WHERE (b.year BETWEEN 1990 AND 2020 OR b.title LIKE '%war%')
  AND a.country IN ('DE', 'FR', 'IT')
  AND b.price > (SELECT AVG(price) FROM books WHERE NOT sold_out = TRUE)
GROUP BY a.name
HAVING COUNT(*) > 3
ORDER BY total DESC NULLS LAST, a.name
LIMIT 10 OFFSET 20;
