import t from 'tap'
import { commandWords, readGlobalFlags } from '../../src/cli/flags.ts'

t.test('flags of every command are found wherever they stand', async t => {
  t.same(
    readGlobalFlags(['--set', 'a=1', 'plugins', '--json', 'list', '--set=b=2', '--project', '/x', '--log-level=debug']),
    {
      json: true,
      inProcess: false,
      set: ['a=1', 'b=2'],
      project: '/x',
      logLevel: 'debug'
    }
  )
})

t.test('of a flag with one value the last counts', async t => {
  t.equal(readGlobalFlags(['--profile', 'a', '--profile=b']).profile, 'b')
})

t.test('what stands behind -- is no flag', async t => {
  t.same(readGlobalFlags(['demo', '--', '--json', '--set', 'a=1']), { json: false, inProcess: false, set: [] })
})

t.test('words are what is neither a flag nor the value of a global one', async t => {
  t.same(commandWords(['--project', 'x', 'plugins', '--json', 'list', '--set', 'a=b', 'c']), ['plugins', 'list', 'c'])
})
