WITH RECURSIVE tree (id, path) AS (
  SELECT id, name FROM parts WHERE parent IS NULL
  UNION ALL
  SELECT p.id, t.path || '/' || p.name FROM parts p JOIN tree t ON p.parent = t.id
), sales AS (SELECT part, amount::NUMERIC(10, 2) AS amount FROM orders WHERE placed >= DATE '2026-01-01')
SELECT t.path, ROUND(SUM(s.amount), 2) total,
  rank() OVER (PARTITION BY EXTRACT(YEAR FROM s.placed) ORDER BY SUM(s.amount) DESC) AS place
FROM tree t INNER JOIN sales s ON s.part = t.id
GROUP BY t.path, s.placed
ORDER BY place
