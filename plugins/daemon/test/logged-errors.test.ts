import t from 'tap'
import { loggedErrors } from '#commands'

t.test('lists each error of a log once, with its plugin', t => {
  const lines = [
    { level: 30, plugin: 'a', msg: 'fine' },
    { level: 40, plugin: 'a', msg: 'careful' },
    { level: 50, plugin: 'a', msg: 'broke' },
    { level: 50, plugin: 'a', msg: 'broke' },
    { level: 60, plugin: 'b', msg: 'b: fell over' },
    { level: 50, msg: 'unknown reason' },
    { level: 50 },
    null
  ]
  const log = `${lines.map(line => JSON.stringify(line)).join('\n')}\nerror: plain text\n{"level":50,"ms`
  t.same(loggedErrors(log), ['a: broke', 'b: fell over', 'unknown reason'])
  t.same(loggedErrors(''), [])
  t.end()
})
