// Block verification of a chain (arXiv 2403.10444) as a subject for draftproof, in one file and without libraries.
//
//   c++ -O2 -std=c++17 -o block_verification block_verification.cpp
//   draftproof check --command ./block_verification
//
// It speaks the JSON lines of docs/protocol.md: the first answer says what it is, every other one verifies a batch.

#include <cctype>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

// ---- the verifier --------------------------------------------------------------------------------------------------

using Row = std::vector<double>;

struct Chain {
  std::vector<int> drafts;       // [K]
  std::vector<Row> declared;     // [K][V]
  std::vector<Row> target;       // [K+1][V]
};

int inverse_cdf(const Row& weights, double uniform) {
  double total = 0, below = 0;
  for (double weight : weights) total += weight;
  int last = 0;
  for (int token = 0; token < (int)weights.size(); ++token) {
    if (weights[token] <= 0) continue;
    last = token;
    below += weights[token];
    if (uniform * total < below) break;
  }
  return last;
}

// uniforms[i] tests draft i (1, 2, ...), uniforms[0] draws the bonus token.
std::vector<int> verify(const Chain& chain, const Row& uniforms) {
  const int length = (int)chain.drafts.size(), vocabulary = (int)chain.target[0].size();
  double capacity = 1;  // what the drafts so far may claim of the target's mass
  std::vector<Row> owed;
  std::vector<double> weight;
  for (int i = 0; i <= length; ++i) {
    Row left(vocabulary, 0.0);
    double mass = 0;
    for (int token = 0; token < vocabulary; ++token) {
      const double q = i < length ? chain.declared[i][token] : 0;
      left[token] = std::max(capacity * chain.target[i][token] - q, 0.0);
      mass += left[token];
    }
    owed.push_back(mass > 0 ? left : chain.target[i]);
    weight.push_back(i < length ? mass / (mass + 1 - capacity) : capacity);
    if (mass + 1 - capacity <= 0) weight.back() = 0;
    if (i < length) {
      const int x = chain.drafts[i];
      capacity = std::min(1.0, capacity * chain.target[i][x] / chain.declared[i][x]);
    }
  }
  int accepted = 0;
  for (int i = length; i > 0; --i)
    if (uniforms[i] < weight[i]) {
      accepted = i;
      break;
    }
  std::vector<int> block(chain.drafts.begin(), chain.drafts.begin() + accepted);
  block.push_back(inverse_cdf(owed[accepted], uniforms[0]));
  return block;
}

// ---- just enough JSON ----------------------------------------------------------------------------------------------

struct Json {
  enum Kind { Null, Number, Text, List, Object } kind = Null;
  double number = 0;
  std::string text;
  std::vector<Json> items;
  std::map<std::string, Json> members;

  const Json& at(const std::string& key) const {
    const auto found = members.find(key);
    if (found == members.end()) throw std::runtime_error("no \"" + key + "\" in the message");
    return found->second;
  }
};

class Parser {
 public:
  explicit Parser(const std::string& line) : text_(line) {}

  Json value() {
    skip();
    Json out;
    const char c = peek();
    if (c == '{') {
      out.kind = Json::Object;
      for (++place_; !closed('}');) {
        const std::string key = string();
        expect(':');
        out.members[key] = value();
      }
    } else if (c == '[') {
      out.kind = Json::List;
      for (++place_; !closed(']');) out.items.push_back(value());
    } else if (c == '"') {
      out.kind = Json::Text;
      out.text = string();
    } else if (text_.compare(place_, 4, "null") == 0) {
      place_ += 4;
    } else {
      out.kind = Json::Number;
      size_t used = 0;
      out.number = std::stod(text_.substr(place_, 64), &used);
      place_ += used;
    }
    return out;
  }

 private:
  char peek() const { return place_ < text_.size() ? text_[place_] : '\0'; }
  void skip() { while (std::isspace((unsigned char)peek())) ++place_; }
  void expect(char wanted) {
    skip();
    if (peek() != wanted) throw std::runtime_error(std::string("expected ") + wanted);
    ++place_;
  }
  bool closed(char end) {  // past a comma or the end of a list or object
    skip();
    if (peek() == ',') { ++place_; skip(); return false; }
    if (peek() == end) { ++place_; return true; }
    if (peek() == '\0') throw std::runtime_error("the message breaks off");
    return false;
  }
  std::string string() {
    expect('"');
    const size_t end = text_.find('"', place_);
    if (end == std::string::npos) throw std::runtime_error("the message breaks off");
    const std::string out = text_.substr(place_, end - place_);
    place_ = end + 1;
    return out;
  }

  const std::string& text_;
  size_t place_ = 0;
};

Row row_of(const Json& list) {
  Row out;
  for (const Json& item : list.items) out.push_back(item.number);
  return out;
}

Chain chain_of(const Json& tree) {
  Chain out;
  for (const Json& token : tree.at("drafts").items) out.drafts.push_back((int)token.number);
  for (const Json& row : tree.at("target").items) out.target.push_back(row_of(row));
  for (const Json& row : tree.at("declared").items) out.declared.push_back(row_of(row));
  if (out.declared.empty())  // deterministic drafts: each was drawn from a point mass
    for (int token : out.drafts) {
      out.declared.emplace_back(out.target[0].size(), 0.0);
      out.declared.back()[token] = 1;
    }
  return out;
}

std::string answer(const Json& question) {
  std::vector<Chain> chains;
  for (const Json& tree : question.at("trees").items) chains.push_back(chain_of(tree));
  std::string blocks, accepted;
  const auto& uniforms = question.at("uniforms").items;
  const auto& pick = question.at("pick").items;
  for (size_t row = 0; row < pick.size(); ++row) {
    const std::vector<int> block = verify(chains.at((size_t)pick[row].number), row_of(uniforms[row]));
    blocks += row ? ",[" : "[";
    for (size_t i = 0; i < block.size(); ++i) blocks += (i ? "," : "") + std::to_string(block[i]);
    blocks += "]";
    accepted += (row ? "," : "") + std::to_string(block.size() - 1);
  }
  return "{\"blocks\":[" + blocks + "],\"accepted\":[" + accepted + "]}";
}

int main() {
  std::ios::sync_with_stdio(false);
  for (std::string line; std::getline(std::cin, line);) {
    try {
      const Json message = Parser(line).value();
      if (message.members.count("draftproof"))
        std::cout << "{\"hello\":{\"shape\":\"chain\",\"family\":\"block\",\"rows\":\"probs\",\"dtype\":\"float64\","
                     "\"randomness\":\"uniforms\",\"uniforms_dtype\":\"float64\",\"layout\":\"draftproof\","
                     "\"claims\":[\"lossless\",\"optimal_on_chains\"]}}" << std::endl;
      else
        std::cout << answer(message.at("verify")) << std::endl;
    } catch (const std::exception& error) {
      std::cout << "{\"error\":\"" << error.what() << "\"}" << std::endl;
    }
  }
}
