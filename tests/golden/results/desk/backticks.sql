SELECT who AS `order`, cost AS `the cost` FROM calls WHERE `who` = 'ann'
