// Runs the problems of the file +cases=FILE through an array: "m n k", then A and B row by row, all
// in decimal. Prints for each the ticks that it took and C.
`timescale 1ns / 1ns
module bench;
    parameter R = 4;
    parameter C = 4;
    localparam MAX = 4096; // elements of a matrix

    reg clk = 0;
    reg load = 0;
    reg [8*C-1:0] weights = 0;
    reg rows_on = 0;
    reg [8*R-1:0] rows = 0;
    wire [C-1:0] out_on;
    wire [32*C-1:0] out;
    reg signed [7:0] a [0:MAX-1];
    reg signed [7:0] b [0:MAX-1];
    reg signed [31:0] sums [0:MAX-1];
    integer came [0:C-1]; // sums of this fold that left each column
    integer m, n, k, k0, n0, i, j, value, left, ticks, file, got;
    reg [8*1024-1:0] name;

    array_ws #(.R(R), .C(C)) array (
        .clk(clk), .load(load), .weights(weights), .rows_on(rows_on), .rows(rows),
        .out_on(out_on), .out(out)
    );

    task tick;
        integer c;
        begin
            #1 clk = 1;
            #1 clk = 0;
            ticks = ticks + 1;
            for (c = 0; c < C; c = c + 1)
                if (out_on[c]) begin
                    if (n0 + c < n)
                        sums[came[c]*n + n0 + c] = sums[came[c]*n + n0 + c] + out[32*c +: 32];
                    came[c] = came[c] + 1;
                    left = left - 1;
                end
        end
    endtask

    task fold;
        begin
            for (j = 0; j < C; j = j + 1) came[j] = 0;
            left = m * C;
            rows_on = 0;
            load = 1;
            for (i = R - 1; i >= 0; i = i - 1) begin // the last row's weights go furthest
                for (j = 0; j < C; j = j + 1)
                    weights[8*j +: 8] = k0 + i < k && n0 + j < n ? b[(k0+i)*n + n0 + j] : 0;
                tick;
            end
            load = 0;
            for (i = 0; left > 0; i = i + 1) begin
                rows_on = i < m;
                for (j = 0; j < R; j = j + 1)
                    rows[8*j +: 8] = i < m && k0 + j < k ? a[i*k + k0 + j] : 0;
                tick;
            end
        end
    endtask

    initial begin
        if (!$value$plusargs("cases=%s", name)) $finish;
        file = $fopen(name, "r");
        while ($fscanf(file, "%d %d %d", m, n, k) == 3) begin
            for (i = 0; i < m * k; i = i + 1) begin
                got = $fscanf(file, "%d", value);
                a[i] = value[7:0];
            end
            for (i = 0; i < k * n; i = i + 1) begin
                got = $fscanf(file, "%d", value);
                b[i] = value[7:0];
            end
            for (i = 0; i < m * n; i = i + 1) sums[i] = 0;
            ticks = 0;
            for (k0 = 0; k0 < k; k0 = k0 + R)
                for (n0 = 0; n0 < n; n0 = n0 + C) fold;
            $write("%0d", ticks);
            for (i = 0; i < m * n; i = i + 1) $write(" %0d", sums[i]);
            $write("\n");
        end
        $finish;
    end
endmodule
