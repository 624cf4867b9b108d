// SPDX-License-Identifier: Apache-2.0
#include "text/dot.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_replace.h"
#include "ir/order.h"
#include "ops/op_def.h"
#include "text/print.h"
#include "text/print_attrs.h"

namespace braze {

namespace {

constexpr size_t kMaxLabel = 120;
constexpr size_t kMaxDrawn = 250;  // instructions of a computation that is drawn in HTML

// Colours by what an op costs and does.
const char* colour(const Instr& i) {
  if (i.is(Op::kParameter)) return "#ffd9a0";
  if (i.is(Op::kConstant) || i.is(Op::kIota)) return "#e8e8e8";
  if (def(i).has(kCollective) || def(i).has(kEffect)) return "#f2b6c6";
  if (!i.calls.empty()) return "#c9b8ec";
  if (i.is(Op::kDot) || i.is(Op::kConvolution)) return "#a8c8f0";
  if (def(i).has(kMovement)) return "#c6e6c3";
  return "#fff7c2";
}

std::string clipped(std::string s) {
  if (s.size() > kMaxLabel) s = s.substr(0, kMaxLabel) + "…";
  return s;
}

std::string html_escape(std::string_view s) {
  return absl::StrReplaceAll({s.data(), s.size()},
                             {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"\"", "&quot;"}});
}

std::string dot_escape(const std::string& s) {
  return absl::StrReplaceAll(s, {{"\\", "\\\\"}, {"\"", "\\\""}, {"\n", "\\n"}});
}

// What stands between and after the parentheses, without operands.
std::string details(const Instr& i) {
  std::string out;
  text::append_attrs(&out, i);
  if (i.is(Op::kConstant) && i.literal().elements() <= 8) out = " " + to_string(i.literal()) + out;
  return clipped(out);
}

}  // namespace

std::string print_dot(const Module& m) {
  std::string out =
      str_cat("digraph \"", dot_escape(m.name()),
              "\" {\n  rankdir=TB;\n  compound=true;\n"
              "  node [shape=box, style=filled, fontname=\"Helvetica\", fontsize=10];\n");
  auto node = [](const Instr& i) { return str_cat("n", i.id); };
  for (Computation* c : stable_order(m)) {
    absl::StrAppend(&out, "  subgraph \"cluster_", dot_escape(c->name()), "\" {\n    label=\"",
                    dot_escape(c->name()), c == m.entry() ? " (entry)" : "", "\";\n");
    for (const Instr* i : stable_order(*c)) {
      std::string label =
          str_cat(i->name, "\n", name(i->op), details(*i), "\n", to_string(i->shape, false));
      absl::StrAppend(&out, "    ", node(*i), " [label=\"", dot_escape(label), "\", fillcolor=\"",
                      colour(*i), "\"", i == c->root() ? ", penwidth=3" : "");
      if (std::string where = i->location(); !where.empty())
        absl::StrAppend(&out, ", tooltip=\"", dot_escape(where), "\"");
      out += "];\n";
    }
    out += "  }\n";
    for (const Instr* i : stable_order(*c)) {
      for (size_t k = 0; k < i->operands.size(); ++k)
        absl::StrAppend(
            &out, "  ", node(*i->operands[k]), " -> ", node(*i),
            i->operands.size() > 1 ? str_cat(" [headlabel=\"", k, "\", labelfontsize=8]") : "",
            ";\n");
      if (i->extras)
        for (const Instr* p : i->extras->control_predecessors)
          absl::StrAppend(&out, "  ", node(*p), " -> ", node(*i), " [style=dotted];\n");
      for (const Computation* callee : i->calls)
        if (callee->root())
          absl::StrAppend(&out, "  ", node(*callee->root()), " -> ", node(*i),
                          " [style=dashed, color=\"#8060c0\"];\n");
    }
  }
  return out + "}\n";
}

namespace {

constexpr char kStyle[] = R"css(
body{font:13px/1.45 ui-monospace,monospace;margin:16px;color:#222}
h2{font-size:15px;margin:24px 0 4px}
li{list-style:none;padding:1px 6px;border-radius:3px;margin:1px 0;white-space:pre-wrap}
ul{padding-left:8px}
a{color:#0645ad;text-decoration:none}
a:hover{text-decoration:underline}
.t{color:#666}.u{color:#999;font-size:11px}
li:target{outline:2px solid #d33}
svg{background:#fafafa;border:1px solid #ddd;max-width:100%}
svg text{font:9px ui-monospace,monospace}
)css";

// One column per position within a depth; the depth is the longest way from the leaves.
void draw(std::string* out, const Computation& c, const std::vector<Instr*>& order) {
  absl::flat_hash_map<const Instr*, std::pair<int, int>> at;  // depth, column
  std::vector<int> filled;
  for (const Instr* i : order) {
    int depth = 0;
    for (const Instr* o : i->operands) depth = std::max(depth, at[o].first + 1);
    if (static_cast<size_t>(depth) >= filled.size()) filled.resize(depth + 1);
    at[i] = {depth, filled[depth]++};
  }
  constexpr int kW = 130, kH = 46;
  int columns = *std::max_element(filled.begin(), filled.end());
  auto x = [&](const Instr* i) {
    return at[i].second * kW + (columns - filled[at[i].first]) * kW / 2 + 5;
  };
  auto y = [&](const Instr* i) { return at[i].first * kH + 5; };
  absl::StrAppend(out, "<details><summary>drawing</summary><svg width=\"", columns * kW + 10,
                  "\" height=\"", static_cast<int>(filled.size()) * kH + 10, "\">");
  for (const Instr* i : order)
    for (const Instr* o : i->operands)
      absl::StrAppend(out, "<line x1=\"", x(o) + 60, "\" y1=\"", y(o) + 30, "\" x2=\"", x(i) + 60,
                      "\" y2=\"", y(i), "\" stroke=\"#999\"/>");
  for (const Instr* i : order)
    absl::StrAppend(out, "<a href=\"#i", i->id, "\"><rect x=\"", x(i), "\" y=\"", y(i),
                    "\" width=\"120\" height=\"30\" rx=\"3\" fill=\"", colour(*i), "\" stroke=\"",
                    i == c.root() ? "#000" : "#bbb", "\"/><text x=\"", x(i) + 4, "\" y=\"",
                    y(i) + 12, "\">", html_escape(std::string(name(i->op)).substr(0, 20)),
                    "</text><text x=\"", x(i) + 4, "\" y=\"", y(i) + 25, "\">",
                    html_escape(to_string(i->shape, false).substr(0, 20)), "</text></a>");
  *out += "</svg></details>\n";
}

std::string link(const Instr& i) {
  return str_cat("<a href=\"#i", i.id, "\">", html_escape(i.name), "</a>");
}

void html_instr(std::string* out, const Instr& i, bool is_root) {
  absl::StrAppend(out, "<li id=\"i", i.id, "\" style=\"background:", colour(i), "\"");
  if (i.extras && i.extras->metadata != Metadata{})
    absl::StrAppend(out, " title=\"", html_escape(i.extras->metadata.op_name), " ",
                    html_escape(i.location()), "\"");
  absl::StrAppend(out, ">", is_root ? "<b>ROOT</b> " : "", html_escape(i.name),
                  " = <span class=\"t\">", html_escape(clipped(to_string(i.shape))), "</span> <b>",
                  cat_piece(name(i.op)), "</b>(");
  for (size_t k = 0; k < i.operands.size(); ++k)
    absl::StrAppend(out, k ? ", " : "", link(*i.operands[k]));
  if (i.is(Op::kParameter)) absl::StrAppend(out, i.parameter_number());
  absl::StrAppend(out, ")", html_escape(details(i)));
  for (const Computation* c : i.calls)
    absl::StrAppend(out, " <a href=\"#c-", html_escape(c->name()), "\">", html_escape(c->name()),
                    "</a>");
  if (!i.users.empty()) *out += " <span class=\"u\">→";
  for (size_t k = 0; k < i.users.size() && k < 8; ++k) absl::StrAppend(out, " ", link(*i.users[k]));
  if (i.users.size() > 8) absl::StrAppend(out, " and ", i.users.size() - 8, " more");
  if (!i.users.empty()) *out += "</span>";
  *out += "</li>\n";
}

}  // namespace

std::string print_html(const Module& m) {
  std::string title = html_escape(m.name());
  std::string out =
      str_cat("<!doctype html><html><head><meta charset=\"utf-8\"><title>", title,
              "</title><style>", kStyle, "</style></head><body><h1>", title, "</h1>\n<p>");
  std::vector<Computation*> order = stable_order(m);
  for (const Computation* c : order)
    absl::StrAppend(&out, "<a href=\"#c-", html_escape(c->name()), "\">", html_escape(c->name()),
                    "</a> ");
  out += "</p>\n";
  for (const Computation* c : order) {
    absl::StrAppend(&out, "<h2 id=\"c-", html_escape(c->name()), "\">",
                    c == m.entry() ? "ENTRY " : "", html_escape(c->name()), "</h2>\n");
    std::vector<Instr*> instrs = stable_order(*c);
    if (!instrs.empty() && instrs.size() <= kMaxDrawn) draw(&out, *c, instrs);
    out += "<ul>\n";
    for (const Instr* i : instrs) html_instr(&out, *i, i == c->root());
    out += "</ul>\n";
  }
  return out + "</body></html>\n";
}

}  // namespace braze
