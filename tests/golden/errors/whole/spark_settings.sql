SET spark.driver.memory = '1g';
SET sprk.driver.memory = '1g';
