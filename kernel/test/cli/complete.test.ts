import t from 'tap'
import { candidates } from '#cli'
import type { Catalog } from '#host'
import { demoManifest, demoTree } from './commands.ts'

const manifest = demoManifest()
const catalog = {
  manifests: [manifest],
  found: {
    sources: [
      { name: 'demo', manifest },
      { name: 'broken', manifest: null }
    ]
  }
} as unknown as Catalog

/** Returns the candidates for the last of these words. */
const offered = (...words: string[]): string[] =>
  candidates(words.slice(0, -1), words.at(-1) ?? '', demoTree(), catalog).map(each => each.value)

t.test('completes commands and the commands of a group', async t => {
  t.same(offered(''), ['serve', 'call', 'rpc', 'completion', 'demo'])
  t.same(offered('de'), ['demo'])
  t.same(offered('demo', ''), ['greet', 'chat'])
  t.same(offered('--project', '/x', 'demo', 'g'), ['greet'])
})

t.test('completes flags of the command and global flags, except those already used', async t => {
  t.same(offered('demo', 'greet', 'Ada', '--t'), ['--tone', '--times'])
  t.same(offered('demo', 'greet', '--tone', 'warm', '--t'), ['--times'])
  t.ok(offered('demo', 'greet', '--').includes('--json'))
  t.same(offered('--set', 'a=b', '--se'), ['--set'])
})

t.test('completes known values', async t => {
  t.same(offered('demo', 'greet', 'Ada', '--tone', ''), ['warm', 'cold'])
  t.same(offered('demo', 'greet', 'Ada', '--plugin', ''), ['demo', 'broken'])
  t.same(offered('--log-level', 'w'), ['warn'])
  t.same(offered('call', 'demo.'), ['demo.greet', 'demo.hidden'])
  t.same(offered('rpc', ''), ['demo.greet', 'demo.other', 'rpc.discover'])
  t.same(offered('completion', ''), ['bash', 'zsh', 'fish', 'powershell'])
})

t.test('offers nothing for a file argument', async t => {
  t.same(offered('demo', 'greet', ''), [])
  t.same(offered('call', 'demo.greet', ''), [])
})
