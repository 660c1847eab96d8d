import { type Diagnostic, diagnostic, spellingFix } from '../diagnostics/diagnostic.ts'
import type { Module, StateMachine } from '../syntax/ast.ts'
import { nearName } from '../syntax/near-name.ts'

/** Reports transitions from or to a state that their machine does not have. */
export function checkStateMachines({ items }: Module): Diagnostic[] {
  return items.flatMap(item => (item.kind === 'StateMachine' ? unknownStates(item) : []))
}

function unknownStates({ name: machine, items }: StateMachine): Diagnostic[] {
  const states = items.flatMap(item => (item.kind === 'MachineState' ? [item.name.text] : []))
  return items.flatMap(item => {
    if (item.kind !== 'Transition') return []
    const from = item.from.text === 'any' || item.from.text === '_' ? [] : [item.from]
    return [...from, item.target].flatMap(state => {
      if (states.includes(state.text) || state.text === '') return []
      const near = nearName(state.text, states)
      return diagnostic('E_SM_UNKNOWN_STATE', `\`${machine.text}\` has no state \`${state.text}\``, state, {
        suggestions: [`its states are ${states.map(each => `\`${each}\``).join(', ')}`],
        ...spellingFix(near, state)
      })
    })
  })
}
