SELECT a.city, b.who FROM visits a JOIN visits b ON a.city = b.city AND a.n < b.n;
