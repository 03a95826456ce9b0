SELECT DISTINCT u.id, COALESCE(u.nick, LOWER(u."full name"), 'nobody') AS shown,
  CASE WHEN u.age < 18 THEN 'minor' WHEN u.age >= 65 AND NOT u.working THEN 'retired' ELSE CAST(u.age AS TEXT) END AS age
FROM users u CROSS JOIN regions r
WHERE EXISTS (SELECT 1 FROM orders o WHERE o.user_id = u.id AND o.total > ALL (SELECT total FROM refunds WHERE user_id IN (SELECT id FROM users WHERE region = r.id AND ((active)))))
  AND u.mail NOT ILIKE '%@example.%' AND -u.balance * (2 + (3 - (4 * u.score))) <> 0
EXCEPT
(SELECT id, name, 'it''s gone' FROM archive WHERE deleted IS NOT NULL LIMIT 100)
