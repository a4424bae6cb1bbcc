module holdfast

go 1.26
