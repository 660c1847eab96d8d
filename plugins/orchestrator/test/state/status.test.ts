import type { TaskStatusKind } from '@svc/contracts'
import fc from 'fast-check'
import t from 'tap'
import { allows, hasEnded, transitions } from '#state'

const kinds = Object.keys(transitions) as TaskStatusKind[]

t.test('transitions lead only to known statuses, and end only in Completed or Cancelled', async t => {
  fc.assert(
    fc.property(fc.array(fc.nat(), { maxLength: 50 }), choices => {
      let status: TaskStatusKind = 'Queued'
      for (const choice of choices) {
        const next: readonly TaskStatusKind[] = transitions[status]
        if (next.length === 0) return status === 'Completed' || status === 'Cancelled'
        status = next[choice % next.length] as TaskStatusKind
        if (!kinds.includes(status)) return false
      }
      return true
    })
  )
  t.same(
    kinds.filter(kind => transitions[kind].length === 0),
    ['Completed', 'Cancelled']
  )
})

t.test('a status may stay the same, and an ended task continues only by a retry', async t => {
  for (const kind of kinds) {
    t.ok(allows(kind, kind))
    if (kind === 'Queued') continue
    t.equal(allows('Completed', kind), kind === 'Completed')
    t.equal(allows('Cancelled', kind), kind === 'Cancelled')
  }
  t.notOk(allows('Queued', 'Completed'), 'a queued task must be started before it is completed')
  t.ok(allows('Failed', 'Queued'))
  t.same(kinds.filter(hasEnded), ['Failed', 'Completed', 'Cancelled'])
})
