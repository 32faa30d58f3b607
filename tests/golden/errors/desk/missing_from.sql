SELECT user, page
