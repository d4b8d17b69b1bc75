package com.acme;

public class Broken {
    int n = "no number";
}
