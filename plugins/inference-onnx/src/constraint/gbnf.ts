import type { CodePoints } from './code-points.ts'
import { spendSteps } from './compile-limits.ts'
import { AutomatonTooLarge, type Dfa } from './dfa.ts'
import { type GbnfExpression, parseGbnf } from './gbnf-parser.ts'
import { Network, type NetworkRule, NetworkTooLarge, Terminal } from './network.ts'
import { type Fragment, NfaBuilder } from './nfa.ts'
import { unsupported } from './unsupported.ts'
import { type ByteGraph, utf8 } from './utf8.ts'

/** The rule that describes the whole text. */
const ROOT = 'root'
/** Maximum size of an expression that becomes one automaton, in states before it is made deterministic. */
const MAX_INLINED = 4_000
/** Maximum size of a rule that is copied into the automata of its neighbours. */
const MAX_COPIED = 24
/** Size of a reference, which limits the depth of nested rules in one automaton. */
const REFERENCE_SIZE = 4

/**
 * Compiles a grammar in llama.cpp's GBNF notation. Parts without recursion become automata; calls of recursive rules
 * become calls in the network.
 *
 * Throws `INF_CONSTRAINT_UNSUPPORTED` for invalid syntax, unknown rules, a grammar without any text, and a too large one.
 */
export function compileGbnf(text: string): Network {
  const rules = parseGbnf(text)
  if (!rules.has(ROOT)) throw unsupported('grammar', `it has no rule "${ROOT}", which describes the whole text`)
  try {
    return new GbnfCompiler(rules).compile()
  } catch (error) {
    if (!(error instanceof AutomatonTooLarge || error instanceof NetworkTooLarge)) throw error
    throw unsupported('grammar', `it is too large: ${error.message}`, 'Use smaller repetition counts.')
  }
}

class GbnfCompiler {
  readonly #rules: ReadonlyMap<string, GbnfExpression>
  readonly #network = new Network()
  readonly #traits: RuleTraits
  readonly #ids = new Map<string, number>()
  readonly #automata = new Map<GbnfExpression, Dfa | null>()
  /** Cache of encoded sets: copies of a rule encode the same set several times. */
  readonly #encoded = new Map<CodePoints, ByteGraph>()
  /** Rules that have an id but no content yet, which allows recursion. */
  readonly #pending: { readonly rule: NetworkRule; readonly content: GbnfExpression }[] = []

  constructor(rules: ReadonlyMap<string, GbnfExpression>) {
    this.#rules = rules
    this.#traits = new RuleTraits(rules)
  }

  compile(): Network {
    const network = this.#network
    const first = network.rules[network.rule()] as NetworkRule
    this.#add({ type: 'rule', name: ROOT }, first.start, first.end)
    for (let task = this.#pending.pop(); task !== undefined; task = this.#pending.pop()) {
      this.#add(task.content, task.rule.start, task.rule.end)
    }
    if (!network.prune()) throw unsupported('grammar', 'no text matches the rule "root"')
    return network
  }

  /** Adds edges that read the expression. */
  #add(expression: GbnfExpression, from: number, to: number): void {
    if (this.#traits.sizeOf(expression) <= MAX_INLINED && this.#addAutomaton(expression, from, to)) return
    // toestub-ignore(stringly-typed-enum) - the type is a union of these texts
    if (expression.type === 'rule') this.#call(this.#idOf(expression.name), expression, from, to)
    else if (expression.type === 'choice') {
      for (const part of this.#split(expression.parts)) this.#add(part, from, to)
    } else if (expression.type === 'sequence') this.#addSequence(expression.parts, from, to)
    else if (expression.type === 'repeat') this.#addRepeat(expression, from, to)
    else throw new AutomatonTooLarge('one part is too large')
  }

  #addSequence(parts: readonly GbnfExpression[], from: number, to: number): void {
    const groups = this.#groups(parts)
    if (groups.length === 0) this.#network.jump(from, to)
    let before = from
    for (const [at, group] of groups.entries()) {
      const after = at === groups.length - 1 ? to : this.#network.node()
      this.#add(group, before, after)
      before = after
    }
  }

  /** Adds an automaton for the expression; returns false if it is too large. */
  #addAutomaton(expression: GbnfExpression, from: number, to: number): boolean {
    const key = expression.type === 'rule' ? this.#ruleOf(expression.name) : expression
    let dfa = this.#automata.get(key)
    if (dfa === undefined) {
      try {
        const nfa = new NfaBuilder()
        dfa = nfa.build(this.#fragment(expression, nfa))
      } catch (error) {
        if (!(error instanceof AutomatonTooLarge) || isAtom(expression)) throw error
        return false
      }
      this.#automata.set(key, dfa)
    }
    if (dfa === null) return true
    if (dfa.accepts(0)) this.#network.jump(from, to)
    if (dfa.isOpen(0)) this.#network.terminal(from, new Terminal(dfa), to)
    return true
  }

  #fragment(expression: GbnfExpression, nfa: NfaBuilder): Fragment {
    switch (expression.type) {
      case 'text':
        return nfa.text(expression.text)
      case 'characters':
        return nfa.bytes(this.#bytesOf(expression.set))
      case 'rule':
        return this.#fragment(this.#ruleOf(expression.name), nfa)
      case 'sequence':
        return nfa.sequence(expression.parts.map(part => this.#fragment(part, nfa)))
      case 'choice':
        return nfa.choice(expression.parts.map(part => this.#fragment(part, nfa)))
      case 'repeat':
        return nfa.repeat(() => this.#fragment(expression.part, nfa), expression.min, expression.max)
    }
  }

  #bytesOf(set: CodePoints): ByteGraph {
    let graph = this.#encoded.get(set)
    if (graph === undefined) {
      spendSteps(300)
      this.#encoded.set(set, (graph = set.length === 0 ? [[]] : utf8(set)))
    }
    return graph
  }

  /** Adds calls of a rule for the repeated part, so that each repetition needs one node. */
  #addRepeat(expression: Extract<GbnfExpression, { type: 'repeat' }>, from: number, to: number): void {
    const network = this.#network
    const { part, min, max } = expression
    const rule = part.type === 'rule' ? this.#idOf(part.name) : this.#newRule(part)
    let node = from
    const next = (): number => {
      const after = network.node()
      this.#call(rule, part, node, after)
      return after
    }
    for (let count = 0; count < min; count++) node = next()
    if (max === Number.POSITIVE_INFINITY) {
      const loop = network.node()
      network.jump(node, loop)
      this.#call(rule, part, loop, loop)
      network.jump(loop, to)
      return
    }
    for (let count = min; count < max; count++) {
      network.jump(node, to)
      node = next()
    }
    network.jump(node, to)
  }

  /** Adds a call. A rule that may be empty is also skipped: rules read at least one byte, see {@link Network}. */
  #call(rule: number, content: GbnfExpression, from: number, to: number): void {
    this.#network.call(from, rule, to)
    if (this.#traits.isNullable(content)) this.#network.jump(from, to)
  }

  #idOf(name: string): number {
    const id = this.#ids.get(name) ?? this.#newRule(this.#ruleOf(name))
    this.#ids.set(name, id)
    return id
  }

  #newRule(content: GbnfExpression): number {
    const id = this.#network.rule()
    this.#pending.push({ rule: this.#network.rules[id] as NetworkRule, content })
    return id
  }

  #ruleOf(name: string): GbnfExpression {
    return this.#rules.get(name) as GbnfExpression
  }

  /** Joins the parts of a choice that become one automaton. */
  #split(parts: readonly GbnfExpression[]): readonly GbnfExpression[] {
    const inlined: GbnfExpression[] = []
    const others: GbnfExpression[] = []
    let size = 0
    for (const part of parts) {
      const partSize = this.#traits.sizeOf(part)
      if (size + partSize > MAX_INLINED) others.push(part)
      else {
        size += partSize
        inlined.push(part)
      }
    }
    // A choice of all parts was tried before.
    if (inlined.length === 0 || others.length === 0) return parts
    return [joined('choice', inlined), joined('choice', others)]
  }

  /**
   * Joins neighbours in a sequence that become one automaton. Larger rules stay separate, so that all their uses share
   * one automaton.
   */
  #groups(parts: readonly GbnfExpression[]): readonly GbnfExpression[] {
    const groups: GbnfExpression[][] = []
    let size = Number.POSITIVE_INFINITY
    for (const part of parts) {
      const partSize = this.#traits.sizeOf(part)
      const isSeparate = part.type === 'rule' && partSize > MAX_COPIED
      size += partSize
      if (size > MAX_INLINED || isSeparate) {
        size = isSeparate ? Number.POSITIVE_INFINITY : partSize
        groups.push([])
      }
      groups.at(-1)?.push(part)
    }
    if (groups.length === 1) return parts
    return groups.map(group => joined('sequence', group))
  }
}

function joined(type: 'sequence' | 'choice', parts: readonly GbnfExpression[]): GbnfExpression {
  return parts.length === 1 ? (parts[0] as GbnfExpression) : { type, parts }
}

function isAtom({ type }: GbnfExpression): boolean {
  return type === 'characters' || type === 'text'
}

/** Sizes of the rules after inlining, and the rules that may be empty. Throws for unknown rules. */
class RuleTraits {
  readonly #sizes = new Map<string, number>()
  readonly #nullable = new Set<string>()

  constructor(rules: ReadonlyMap<string, GbnfExpression>) {
    const callers = new Map<string, string[]>([...rules.keys()].map(name => [name, []]))
    const open = new Map<string, number>()
    for (const [name, content] of rules) {
      const called = calledIn(content)
      open.set(name, called.size)
      for (const each of called) {
        const known = callers.get(each)
        if (known === undefined) {
          throw unsupported(
            'grammar',
            `the rule ${JSON.stringify(each)} is not defined; ${JSON.stringify(name)} uses it`
          )
        }
        known.push(name)
      }
    }
    // Rules whose called rules have a size; rules on a cycle never get one. The loop also visits added names.
    const sized = [...rules.keys()].filter(name => open.get(name) === 0)
    for (const name of sized) {
      this.#sizes.set(name, this.sizeOf(rules.get(name) as GbnfExpression))
      for (const caller of callers.get(name) ?? []) {
        const left = (open.get(caller) as number) - 1
        open.set(caller, left)
        if (left === 0) sized.push(caller)
      }
    }
    // A rule is visited again when a rule that it calls turns out to be nullable.
    const visits = [...rules.keys()]
    for (const name of visits) {
      if (this.#nullable.has(name) || !this.isNullable(rules.get(name) as GbnfExpression)) continue
      this.#nullable.add(name)
      visits.push(...(callers.get(name) ?? []))
    }
  }

  /** Returns an upper estimate of the states of the expression's automaton; infinite for recursion. */
  sizeOf(expression: GbnfExpression): number {
    spendSteps(1)
    switch (expression.type) {
      case 'text':
        return expression.text.length * 3 + 1
      case 'characters':
        return 4 + expression.set.length
      case 'rule':
        return (this.#sizes.get(expression.name) ?? Number.POSITIVE_INFINITY) + REFERENCE_SIZE
      case 'repeat': {
        const { part, min, max } = expression
        const size = this.sizeOf(part)
        return max === 0 ? 1 : size * Math.max(1, Number.isFinite(max) ? max : min + 1) + 2
      }
      default:
        return expression.parts.reduce((sum, part) => sum + this.sizeOf(part), 2)
    }
  }

  isNullable(expression: GbnfExpression): boolean {
    spendSteps(1)
    switch (expression.type) {
      case 'text':
        return expression.text === ''
      case 'characters':
        return false
      case 'rule':
        return this.#nullable.has(expression.name)
      case 'repeat':
        return expression.min === 0 || this.isNullable(expression.part)
      case 'sequence':
        return expression.parts.every(part => this.isNullable(part))
      case 'choice':
        return expression.parts.some(part => this.isNullable(part))
    }
  }
}

/** Returns the names of the rules that an expression uses. */
function calledIn(expression: GbnfExpression): ReadonlySet<string> {
  const names = new Set<string>()
  const open = [expression]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    // toestub-ignore(stringly-typed-enum) - the type is a union of these texts
    if (next.type === 'rule') names.add(next.name)
    else if (next.type === 'repeat') open.push(next.part)
    else if (next.type === 'sequence' || next.type === 'choice') for (const part of next.parts) open.push(part)
  }
  return names
}
