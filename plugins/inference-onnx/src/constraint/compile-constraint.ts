import type { OutputConstraint } from '@svc/contracts'
import type { Dfa } from './dfa.ts'
import { type NetworkTables, tablesOf } from './flat-network.ts'
import { compileGbnf } from './gbnf.ts'
import { anyJsonObject, compileJsonSchema } from './json-schema.ts'
import { Network, type NetworkRule, Terminal } from './network.ts'
import { compileRegex } from './regex.ts'
import { unsupported } from './unsupported.ts'

/** Constraint that this engine compiles; grammars of plugins bring their own automata. */
export type CompilableConstraint = Exclude<OutputConstraint, { type: 'grammar' }>

/** Compiles a constraint. Throws `INF_CONSTRAINT_UNSUPPORTED`, naming the feature and its location. */
export function compileConstraint(constraint: CompilableConstraint): NetworkTables {
  const network = compileNested(constraint)
  const order = network.callOrder()
  if (order !== null) return tablesOf(network, order)
  if (constraint.type === 'gbnf') {
    throw unsupported('grammar', 'a rule can begin with itself (left recursion); use repetitions such as ("," item)*')
  }
  throw unsupported('#', 'a $ref refers back to itself without an object or an array in between')
}

/** Compiles recursively; most forms limit their depth, but a combination of them may still exceed the stack. */
function compileNested(constraint: CompilableConstraint): Network {
  try {
    return compileNetwork(constraint)
  } catch (error) {
    if (error instanceof RangeError) throw unsupported('#', 'it is nested too deeply')
    throw error
  }
}

function compileNetwork(constraint: CompilableConstraint): Network {
  switch (constraint.type) {
    case 'json-object':
      return anyJsonObject()
    case 'json-schema':
      return compileJsonSchema(constraint.schema)
    case 'gbnf':
      return compileGbnf(constraint.grammar)
    case 'regex': {
      const dfa = compileRegex(constraint.pattern, { path: 'pattern', match: 'whole' })
      if (dfa === null) throw unsupported('pattern', 'no string matches the pattern')
      return networkFromDfa(dfa)
    }
  }
}

/** Returns a network that accepts the same strings as the automaton. If it accepts the empty string, so does a jump. */
function networkFromDfa(dfa: Dfa): Network {
  const network = new Network()
  const { start, end } = network.rules[network.rule()] as NetworkRule
  network.terminal(start, new Terminal(dfa), end)
  if (dfa.accepts(0)) network.jump(start, end)
  return network
}
