#include "gpuforge/layout/expression.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "gpuforge/base/error.h"

namespace gpuforge::layout {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string shown(std::string_view text, const Bindings& bindings = {}) {
  return to_text(evaluate(text, bindings));
}

// The message; the code must be that of the caller's mistakes.
std::string error_of(std::string_view text, const Bindings& bindings = {}) {
  try {
    return "no error: " + shown(text, bindings);
  } catch (const Error& error) {
    EXPECT_TRUE(error.code() == ErrorCode::parse || error.code() == ErrorCode::invalid_argument)
        << error.what();
    return error.message();
  }
}

TEST(Expression, EveryKindOfValueIsPrinted) {
  EXPECT_EQ(shown("composition((8,4):(1,8), 4:2)"), "4:2");
  EXPECT_EQ(shown("size((8,4))"), "32");
  EXPECT_EQ(shown("shape((8,4):(1,8))"), "(8,4)");
  EXPECT_EQ(shown("congruent((8,4), (1,(2,3)))"), "false");
  EXPECT_EQ(shown("make_layout_tv((32):(1), (1):(1))"), "((32),(32,1):(1,0))");
  EXPECT_EQ(shown("(3:1, _, (8,2))"), "(3:1,_,(8,2))");
  EXPECT_EQ(shown("Sw<3,4,3>"), "Sw<3,4,3>");
  EXPECT_EQ(shown("local_tile((8,8):(8,1), (2,4), (1,1))"), "(2,4):(8,1)");
}

TEST(Expression, UnboundNamesAreUnknownNumbers) {
  EXPECT_EQ(shown("zipped_divide((M,N):(N,1), (1,32))"), "((1,32),(?,?)):((0,1),(?,32))");
  EXPECT_EQ(shown("(S,C,X):(1,S,x_2)"), "(?,?,?):(1,?,?)");
  EXPECT_THAT(unbound_names("zipped_divide((M, N):(N,1), (A,_4)) None true Step<X>", {{"A", {IntTuple(1)}}}),
              ElementsAre("M", "N"));
}

TEST(Expression, ReadsWhatCuTePrintsAndWrites) {
  EXPECT_EQ(shown("_4"), "4");
  EXPECT_EQ(shown("(_4,)"), "(4)");
  EXPECT_EQ(shown("()"), "()");
  EXPECT_EQ(shown(" \t( _8 ,\n4 ) : ( _1 , 8 ) \r"), "(8,4):(1,8)");
  EXPECT_EQ(shown("Sw<3,4,3> o _0 o (_8,_64):(_64,_1)"), "Sw<3,4,3> o 0 o (8,64):(64,1)");
  EXPECT_EQ(shown("S<3,4,3> o 16 o 8:1"), "Sw<3,4,3> o 16 o 8:1");
  EXPECT_EQ(shown("Swizzle<_3,_4>{} o 64:1"), "Sw<3,4,3> o 0 o 64:1");
  EXPECT_EQ(shown("(None,2,_)"), "(_,2,_)");
  EXPECT_EQ(shown("make_layout(make_shape(Int<8>{}, _4{}), make_stride(Int<1>{}, C<8>{}))"), "(8,4):(1,8)");
  EXPECT_EQ(shown("Layout<Shape<_8,Shape<_2,_2>>,Stride<_1,Stride<_8,_16>>>{}"), "(8,(2,2)):(1,(8,16))");
  EXPECT_EQ(shown("Layout<Shape<_8,_4>>{}"), "(8,4):(1,8)");
  EXPECT_EQ(shown("Step<_1, X, _1>{}"), "(1,_,1)");
  EXPECT_EQ(shown("true"), "true");
}

TEST(Expression, TemplateArgumentsComeAfterTheFirst) {
  const Bindings bindings = {{"A", evaluate("((2,4),8,3):((1,2),8,64)")}};
  for (const auto& [cpp, plain] : {std::pair{"get<0,1>(A)", "get(A, 0, 1)"},
                                   {"size<0>(A)", "size(A, 0)"},
                                   {"shape<0>(A)", "shape(A, 0)"},
                                   {"group_modes<0,2>(A)", "group_modes(A, 0, 2)"},
                                   {"take<1,3>(A)", "take(A, 1, 3)"},
                                   {"group<1,-1>(A)", "group(A, 1, -1)"},
                                   {"replace<1>(A, 5:7)", "replace(A, 1, 5:7)"},
                                   {"upcast<2>(A)", "upcast(A, 2)"}}) {
    EXPECT_EQ(shown(cpp, bindings), shown(plain, bindings)) << cpp;
  }
  EXPECT_EQ(shown("get<0,1>(A)", bindings), "4:2");
  EXPECT_EQ(shown("size<0>(A)", bindings), "8");
  EXPECT_EQ(shown("stride<0>(A)", bindings), "(1,2)");
  EXPECT_EQ(shown("cosize<1>(A)", bindings), "57");
  EXPECT_EQ(shown("rank<0>(A)", bindings), "2");
  EXPECT_EQ(shown("depth<0>(A)", bindings), "1");
}

TEST(Expression, BoundLayoutsAreFunctions) {
  Bindings bindings = {{"A", evaluate("(8,4):(1,8)")},
                       {"T", evaluate("local_tile((8,8):(8,1), (2,4), (1,1))")}};
  bindings["W"] = evaluate("Sw<1,0,1>");
  bindings["Z"] = evaluate("Sw<1,0,2> o 0 o (4,4):(1,4)");
  EXPECT_EQ(shown("A(3)", bindings), "3");
  EXPECT_EQ(shown("A(3,2)", bindings), "19");
  EXPECT_EQ(shown("A(2,_)", bindings), "(4):(8)");
  EXPECT_EQ(std::get<OffsetLayout>(evaluate("A(2,_)", bindings).is).offset, Integer(2));
  EXPECT_EQ(shown("T(0)", bindings), "20");
  EXPECT_EQ(std::get<OffsetLayout>(evaluate("T(1,_)", bindings).is).offset, Integer(28));
  EXPECT_EQ(shown("A(_,1)(3)", bindings), "11");
  EXPECT_EQ(shown("composition(A, 4:2)(3)", bindings), "6");
  EXPECT_EQ(shown("W(2)", bindings), "3");
  EXPECT_EQ(shown("Z(0,1)", bindings), "5");
  EXPECT_EQ(shown("crd2idx(3, T)", bindings), "9") << "within an expression a part is its layout";
  EXPECT_THAT(error_of("A()", bindings), HasSubstr("expected a coordinate in (), found none"));
  EXPECT_THAT(error_of("A(4:1)", bindings), HasSubstr("expected a coordinate, found the layout 4:1"));
  EXPECT_THAT(error_of("W((1,2))", bindings), HasSubstr("expected an index, found the tuple (1,2)"));
  EXPECT_THAT(error_of("size(A)(1)", bindings), HasSubstr("expected a layout before 1, found 32"));
}

TEST(Expression, LayoutsAndSwizzlesAreFunctionsWithoutANameToo) {
  EXPECT_EQ(shown("(4,8):(8,1)(2)"), "16");
  EXPECT_EQ(shown("(4,8):(8,1)(1,2)"), "10");
  EXPECT_EQ(shown("(4,8):(8,1)(1,_)(3)"), "11");
  EXPECT_EQ(shown("8:2(3)"), "6");
  EXPECT_EQ(shown("Layout<_8,_2>{}(3)"), "6");
  EXPECT_EQ(shown("Sw<1,0,1>(2)"), "3");
  EXPECT_EQ(shown("composition(8:2(_), 4)"), "4:2");
  EXPECT_THAT(error_of("(4,8)(2)"), HasSubstr("expected the end, found '('"));
  EXPECT_THAT(error_of("8:2()"), HasSubstr("expected a coordinate in (), found none"));
}

TEST(Expression, FunctionsOneAfterTheOther) {
  EXPECT_EQ(shown("16:1 o -1 o Sw<1,1,3>"), "16:1 o -1 o Sw<1,1,3>");
  EXPECT_EQ(shown("Sw<2,0,4> o 0 o Sw<3,1,4> o 5 o 4:1"), "Sw<2,0,4> o 0 o Sw<3,1,4> o 5 o 4:1");
  EXPECT_EQ(shown("Sw<1,0,1> o 0 o Sw<1,0,1>"), "Sw<1,0,1> o 0 o Sw<1,0,1>");
  Bindings bindings = {{"A", evaluate("(4,2):(2,1) o 3 o Sw<1,0,1> o 0 o 8:1")},
                       {"B", evaluate("right_inverse(Sw<2,0,3> o 5 o (8,8):(8,1))")}};
  EXPECT_EQ(shown("A", bindings), "(4,2):(2,1) o 3 o Sw<1,0,1> o 0 o 8:1");
  EXPECT_EQ(shown("A(2)", bindings), "5") << "Sw<1,0,1>(2) is 3, and (4,2):(2,1)(3 + 3) is 5";
  EXPECT_EQ(shown("B(9)", bindings), "24");
  EXPECT_EQ(shown("crd2idx(9, B)", bindings), "24");
  EXPECT_EQ(shown("size(A)", bindings), "8");
  EXPECT_EQ(shown("rank(B)", bindings), "1");
  EXPECT_EQ(shown("A(_)", bindings), "(4,2):(2,1) o 3 o Sw<1,0,1> o 0 o 8:1");
  EXPECT_THAT(error_of("size(B)", bindings), HasSubstr("Sw<2,0,3> takes any index: it has no shape"));
  EXPECT_THAT(error_of("8 o 0 o 8:1"),
              HasSubstr("column 1: expected a layout or a swizzle before 'o', found 8"));
  std::string chain = "8:1";
  for (int i = 0; i < 100; ++i) chain = "Sw<1,0,1> o 0 o " + chain;
  EXPECT_THAT(error_of(chain), HasSubstr("at most 64 levels"));
}

TEST(Expression, StatementsBind) {
  Bindings bindings;
  EXPECT_EQ(execute("A = (8,4):(1,8)", bindings).name, "A");
  EXPECT_EQ(execute(" tile_2=composition(A, 4:2)", bindings).name, "tile_2");
  EXPECT_EQ(to_text(execute("tile_2", bindings).value), "4:2");
  EXPECT_EQ(execute("C = 3", bindings).name, "C");
  EXPECT_EQ(shown("(C,C<3>{})", bindings), "(3,3)");
  const auto refused = [&](std::string_view text) {
    try {
      execute(text, bindings);
      return std::string("no error");
    } catch (const Error& error) {
      return error.message();
    }
  };
  EXPECT_THAT(refused("size = 3"), HasSubstr("'size' is a function"));
  EXPECT_THAT(refused("o = 3"), HasSubstr("has a meaning of its own"));
  EXPECT_THAT(refused("Int = 3"), HasSubstr("has a meaning of its own"));
  EXPECT_THAT(refused("= 3"), HasSubstr("expected a name before '=', found none"));
  EXPECT_THAT(refused("2x = 3"), HasSubstr("found '2x'"));
  EXPECT_THAT(refused("_ = 3"), HasSubstr("found '_'"));
  EXPECT_THAT(refused("B ="), HasSubstr("column 4: expected a number"));
  EXPECT_THAT(refused("B = (1"), HasSubstr("column 7"));
  EXPECT_FALSE(bindings.contains("B"));
}

// Each line doubles what the last one had.
TEST(Expression, StatementsCannotFillTheMemory) {
  for (const auto& [first, next, limit] :
       {std::tuple{"A = (1,1)", "A = (A,A)", "at most"},
        {"A = 1:0", "A = (A,A)", "at most"},
        {"A = (1,1):(0,0)", "A = flatten(make_layout(A, A))", "at most 8192 numbers"},
        {"A = 1", "A = (A)", "at most 64 levels"},
        {"A = 1:0", "A = make_layout(A)", "at most 64 levels"},
        {"A = 1:0", "A = append(1:0, 200, A)", "at most"}}) {
    Bindings bindings;
    execute(first, bindings);
    std::string error;
    for (int line = 0; line < 100 && error.empty(); ++line) try {
        execute(next, bindings);
      } catch (const Error& refused) {
        error = refused.message();
      }
    EXPECT_THAT(error, HasSubstr(limit)) << next;
  }
}

TEST(Expression, MistakesAreNamedWithTheirColumn) {
  EXPECT_EQ(error_of("(8,4"), "layout: column 5: expected ',' or ')', found the end");
  EXPECT_EQ(error_of(""), "layout: column 1: expected a number, a name, '?', '_' or '(', found the end");
  EXPECT_EQ(error_of("4:1)"), "layout: column 4: expected the end, found ')'");
  EXPECT_THAT(error_of("4:\x01"), HasSubstr("found the byte 0x01"));
  EXPECT_THAT(error_of("composition(4:1, 2:1, 3:1, 4:1)"), HasSubstr("takes 2 to 3 arguments, found 4"));
  EXPECT_THAT(error_of("flatten()"), HasSubstr("flatten(A) takes 1 argument, found 0"));
  EXPECT_THAT(error_of("get(4:1)"), HasSubstr("takes at least 2 arguments, found 1"));
  EXPECT_EQ(error_of("1 + compositon(4:1, 2:1)"), "layout: column 3: expected the end, found '+'");
  EXPECT_EQ(error_of("(compositon(4:1, 2:1))"),
            "layout: column 2: 'compositon' is neither a function nor a name with a value; did you mean "
            "'composition'?");
  EXPECT_THAT(error_of("Tile_B(2)", {{"tile_B", {IntTuple(1)}}}), HasSubstr("did you mean 'tile_B'?"));
  EXPECT_THAT(error_of("composition"),
              HasSubstr("expected '(' after the function composition, found the end"));
  EXPECT_THAT(error_of("4:1 o 8:1"),
              HasSubstr("column 1: expected a swizzle before 'o', found the layout 4:1"));
  EXPECT_THAT(error_of("Sw<1,2,3> o 4:1 o 8:1"), HasSubstr("expected a number between the two 'o'"));
  EXPECT_THAT(error_of("Sw<1,2,3> o 0 o 8"), HasSubstr("column 17: expected a layout after 'o', found 8"));
  EXPECT_THAT(error_of("(4:1):2"), HasSubstr("expected numbers before ':', found the tuple (4:1)"));
  EXPECT_THAT(error_of("Sw<3,4,99>"), HasSubstr("at most 64"));
  EXPECT_THAT(error_of("(99999999999999999999):1"),
              HasSubstr("column 2: expected a number of at most 63 bits, found 99999999999999999999"));
  EXPECT_THAT(error_of("-9223372036854775808"), HasSubstr("at most 63 bits"));
  EXPECT_THAT(error_of(std::string(100000, '(')), HasSubstr("at most 64 levels"));
}

TEST(Expression, WrongKindsSayWhichArgument) {
  EXPECT_EQ(
      error_of("complement(4:1, true)"),
      "layout: argument 2 of complement(A[, shape]): expected a layout or a tuple of numbers, found the "
      "truth value true");
  EXPECT_THAT(error_of("upcast(4:1, M)"),
              HasSubstr("argument 2 of upcast(A, n): expected a known number, found ?"));
  EXPECT_THAT(error_of("get(4:1, -1)"),
              HasSubstr("argument 2 of get(A, mode, ..): expected 0 or more, found -1"));
  EXPECT_THAT(error_of("append(4:1, 1000000000)"), HasSubstr("expected at most 8192, found 1000000000"));
  EXPECT_THAT(error_of("append(4:1, 257)"), HasSubstr("expected a rank of at most 256, found 257"));
  EXPECT_THAT(error_of("coalesce(Sw<1,2,3>)"), HasSubstr("expected a layout, found the swizzle Sw<1,2,3>"));
  EXPECT_THAT(error_of("coalesce(_)"), HasSubstr("expected a layout or a shape, found _"));
  EXPECT_THAT(error_of("stride(8)"),
              HasSubstr("argument 1 of stride(A[, mode, ..]): expected a layout, found 8"));
  EXPECT_THAT(error_of("zipped_divide(8:1, Sw<1,2,3>)"),
              HasSubstr("a layout, a number, _, or a tuple of these"));
  EXPECT_THAT(error_of("partition_tv(8:1, (4,4))"), HasSubstr("as make_layout_tv gives it"));
}

TEST(Expression, MistakesWithTuplesNameTheOperationAndItsOperands) {
  EXPECT_EQ(error_of("take((4,8), 1, 9)"), "layout: take((4,8), 1, 9): it has 2 elements");
  EXPECT_EQ(error_of("select((4:1,8), 2)"), "layout: select((4:1,8), 2): it has 2 elements");
  EXPECT_EQ(error_of("prepend((4,8), 1, 5)"), "layout: prepend((4,8), 1, 5): it has rank 2 already");
  EXPECT_EQ(error_of("replace((4,8), 3, 5)"), "layout: replace((4,8), 3, 5): there is no element 3");
  EXPECT_EQ(error_of("group((4,8), 1, 3)"), "layout: group((4,8), 1, 3): it has 2 elements");
  EXPECT_EQ(error_of("zip(((4,5),7))"), "layout: zip(((4,5),7)): the elements differ in rank");
  EXPECT_EQ(error_of("unflatten((4:1,8), (1,1,1))"),
            "layout: unflatten((4:1,8), (1,1,1)): there are fewer elements than in the profile");
}

TEST(Expression, PairsOfThreadsAndValuesGoAsOne) {
  Bindings bindings = {{"A", evaluate("(8,32):(32,1)")},
                       {"P", evaluate("make_layout_tv((8,4):(4,1), (1,8):(8,1))")}};
  EXPECT_EQ(shown("partition_tv(A, P)", bindings), shown("partition_tv(A, get(P, 0), get(P, 1))", bindings));
  const Value width = evaluate("vector_width(A, P, 16, 16)", bindings);
  EXPECT_EQ(std::get<VectorWidth>(width.is).elements, 8);
  EXPECT_FALSE(std::get<VectorWidth>(width.is).why.empty());
  EXPECT_EQ(shown("upcast(A, vector_width(A, P, 16, 16))", bindings), "(8,4):(4,1)");
}

TEST(Expression, EveryOperationOfTheAlgebraHasItsName) {
  std::set<std::string_view> names;
  for (const FunctionGroup& group : functions()) {
    for (const Function& function : group.functions) {
      EXPECT_TRUE(names.insert(function.name).second) << function.name;
      EXPECT_EQ(find_function(function.name), &function);
      EXPECT_FALSE(function.parameters.empty()) << function.name;
      EXPECT_FALSE(function.meaning.empty()) << function.name;
    }
  }
  for (const std::string_view name : {"make_layout",
                                      "make_ordered_layout",
                                      "compact_col_major",
                                      "compact_row_major",
                                      "size",
                                      "cosize",
                                      "rank",
                                      "depth",
                                      "congruent",
                                      "compatible",
                                      "crd2idx",
                                      "idx2crd",
                                      "crd2crd",
                                      "slice",
                                      "dice",
                                      "coalesce",
                                      "filter",
                                      "flatten",
                                      "group_modes",
                                      "append",
                                      "prepend",
                                      "replace",
                                      "take",
                                      "composition",
                                      "complement",
                                      "right_inverse",
                                      "left_inverse",
                                      "logical_divide",
                                      "zipped_divide",
                                      "tiled_divide",
                                      "flat_divide",
                                      "logical_product",
                                      "zipped_product",
                                      "tiled_product",
                                      "flat_product",
                                      "blocked_product",
                                      "raked_product",
                                      "upcast",
                                      "downcast",
                                      "recast",
                                      "max_common_layout",
                                      "max_common_vector",
                                      "make_layout_tv",
                                      "local_tile",
                                      "local_partition",
                                      "partition_tv",
                                      "vector_width"})
    EXPECT_TRUE(names.contains(name)) << name;
}

// Whatever is written there is a value or an Error that is not our fault.
void expect_survives(const std::string& text) {
  try {
    const Value value = evaluate(text);
    if (std::holds_alternative<VectorWidth>(value.is)) return;
    const std::string printed = to_text(value);
    EXPECT_EQ(shown(printed), printed) << text;
  } catch (const Error& error) {
    EXPECT_NE(error.code(), ErrorCode::internal) << text << "\n" << error.what();
  }
}

TEST(Expression, SurvivesAnyText) {
  std::mt19937 random(7);
  const auto below = [&](std::size_t count) { return static_cast<std::size_t>(random() % count); };
  std::vector<std::string> pieces = {"(",
                                     ")",
                                     ",",
                                     ":",
                                     "_",
                                     "?",
                                     "o",
                                     "<",
                                     ">",
                                     "{}",
                                     "M",
                                     "_4",
                                     "8",
                                     "0",
                                     "-1",
                                     "32",
                                     "9223372036854775807",
                                     "4611686018427387904",
                                     " ",
                                     "Sw<3,4,3>",
                                     "Sw<2,0,-3> o 0 o ",
                                     "(8,4):(1,8)",
                                     "((2,4),8):((8,1),2)",
                                     "(4,?):(1,4)",
                                     "(_,2)",
                                     "()",
                                     "true",
                                     "\x80"};
  for (const FunctionGroup& group : functions())
    for (const Function& function : group.functions) pieces.push_back(std::string(function.name) + "(");
  for (int round = 0; round < 30000; ++round) {
    std::string text;
    for (std::size_t count = below(12); count > 0; --count) text += pieces[below(pieces.size())];
    expect_survives(text);
  }
  for (int round = 0; round < 5000; ++round) {
    std::string text;
    for (std::size_t count = below(20); count > 0; --count) text += static_cast<char>(random());
    expect_survives(text);
  }
}

// Calls with arguments of every kind, most of them the wrong one; and the same text cut short.
TEST(Expression, SurvivesAnyArguments) {
  std::mt19937 random(11);
  const std::vector<std::string> operands = {"4",
                                             "0",
                                             "-1",
                                             "?",
                                             "_",
                                             "()",
                                             "(8,4)",
                                             "((2,4),8)",
                                             "8:1",
                                             "(8,4):(1,8)",
                                             "(8,4):(4,1)",
                                             "((2,2),4):((8,1),2)",
                                             "(4,?):(?,1)",
                                             "():()",
                                             "0:1",
                                             "3:-2",
                                             "Sw<2,1,3>",
                                             "Sw<2,1,3> o 0 o (8,8):(8,1)",
                                             "Sw<1,0,-1> o 5 o 4:1",
                                             "true",
                                             "(4:1,_,2)",
                                             "(_,1)",
                                             "9223372036854775807",
                                             "(4611686018427387904,4)",
                                             "make_layout_tv((4,2):(2,1),(1,2))"};
  for (const FunctionGroup& group : functions()) {
    for (const Function& function : group.functions) {
      for (int round = 0; round < 400; ++round) {
        std::string text = std::string(function.name) + "(";
        for (std::size_t i = random() % 5; i > 0; --i)
          text += operands[random() % operands.size()] + (i > 1 ? ", " : "");
        text += ")";
        expect_survives(text);
        if (round % 20 == 0) expect_survives(text.substr(0, random() % text.size()));
      }
    }
  }
}

}  // namespace
}  // namespace gpuforge::layout
