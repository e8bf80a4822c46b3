// The weight-stationary array of scalesim-ws in hardware, as a witness that shares no code with the
// simulator: R x C cells, weights shift in from above, rows of A enter from the left (row r delayed
// by r registers), sums move down and leave below the last row.
`timescale 1ns / 1ns
module cell_ws (
    input wire clk,
    input wire load, // weights move down a row
    input wire signed [7:0] weight_in,
    output reg signed [7:0] weight,
    input wire across_on_in,
    input wire signed [7:0] across_in,
    output reg across_on,
    output reg signed [7:0] across,
    input wire signed [31:0] sum_in,
    output reg signed [31:0] sum
);
    initial begin
        across_on = 0;
        weight = 0;
        across = 0;
        sum = 0;
    end
    always @(posedge clk) begin
        if (load) weight <= weight_in;
        across_on <= across_on_in;
        across <= across_in;
        if (across_on_in) sum <= sum_in + across_in * weight;
    end
endmodule

// LENGTH registers, one after the other; none: a wire.
module delay #(parameter LENGTH = 0) (
    input wire clk,
    input wire on_in,
    input wire signed [7:0] in,
    output wire on,
    output wire signed [7:0] out
);
    generate
        if (LENGTH == 0) begin : none
            assign on = on_in;
            assign out = in;
        end else begin : some
            reg [LENGTH-1:0] ons;
            reg [8*LENGTH-1:0] values;
            initial ons = 0;
            always @(posedge clk) begin
                ons <= (ons << 1) | {{(LENGTH){1'b0}}, on_in};
                values <= (values << 8) | {{(8*LENGTH){1'b0}}, in};
            end
            assign on = ons[LENGTH-1];
            assign out = values[8*LENGTH-1 -: 8];
        end
    endgenerate
endmodule

module array_ws #(parameter R = 4, parameter C = 4) (
    input wire clk,
    input wire load,
    input wire [8*C-1:0] weights, // of one row
    input wire rows_on,
    input wire [8*R-1:0] rows, // one element for each row of cells
    output wire [C-1:0] out_on,
    output wire [32*C-1:0] out
);
    // Element r, c enters cell (r, c): from above (weight, sum), from the left (on, across).
    wire signed [7:0] weight [0:(R+1)*C-1];
    wire signed [31:0] sum [0:(R+1)*C-1];
    wire on [0:R*(C+1)-1];
    wire signed [7:0] across [0:R*(C+1)-1];
    genvar r, c;

    generate
        for (c = 0; c < C; c = c + 1) begin : edges
            assign weight[c] = weights[8*c +: 8];
            assign sum[c] = 0;
            assign out[32*c +: 32] = sum[R*C+c];
            assign out_on[c] = on[(R-1)*(C+1)+c+1];
        end
        for (r = 0; r < R; r = r + 1) begin : row
            delay #(.LENGTH(r)) skew (
                .clk(clk), .on_in(rows_on), .in(rows[8*r +: 8]),
                .on(on[r*(C+1)]), .out(across[r*(C+1)])
            );
            for (c = 0; c < C; c = c + 1) begin : column
                cell_ws one (
                    .clk(clk), .load(load), .weight_in(weight[r*C+c]), .weight(weight[(r+1)*C+c]),
                    .across_on_in(on[r*(C+1)+c]), .across_in(across[r*(C+1)+c]),
                    .across_on(on[r*(C+1)+c+1]), .across(across[r*(C+1)+c+1]),
                    .sum_in(sum[r*C+c]), .sum(sum[(r+1)*C+c])
                );
            end
        end
    endgenerate
endmodule
