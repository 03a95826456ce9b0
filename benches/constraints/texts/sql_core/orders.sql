SELECT DISTINCT o.customer_id, MAX(o.placed_at) AS last_order
FROM orders AS o
INNER JOIN lines AS l ON l.order_id = o.id AND l.quantity >= 2
WHERE o.state <> 'cancelled' AND NOT o.test
GROUP BY o.customer_id
ORDER BY last_order DESC
LIMIT 50
