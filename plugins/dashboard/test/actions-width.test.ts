import t from 'tap'
import { actionsWidth } from '#actions-width'

const on = (label: string, ...values: string[]) => ({ label, when: { field: 'state', in: values } })

t.test('the column of buttons is as wide as those of one state, not as all of them', t => {
  const load = actionsWidth([on('Load', 'unloaded')])
  t.equal(actionsWidth([on('Load', 'unloaded'), on('Unload', 'ready')]), actionsWidth([on('Unload', 'ready')]))
  t.ok(actionsWidth([on('Load', 'unloaded'), on('Delete', 'unloaded', 'ready')]) > load)
  t.ok(
    actionsWidth([on('Load', 'unloaded'), { label: 'Copy' }]) > load,
    'an action without a condition is always there'
  )
  t.equal(actionsWidth([]), 0)
  t.end()
})
