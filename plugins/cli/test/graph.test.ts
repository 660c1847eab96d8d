import { type GraphEdge, kernelAdmin } from '@svc/contracts'
import { fake, testPlugin } from '@svc/plugin-sdk/testing'
import t, { type Test } from 'tap'
import cli from '#plugin'
import { fakeAdmin } from './fake-admin.ts'

const EDGES: readonly GraphEdge[] = [
  { from: 'web', token: 'db@1', to: 'database', kind: 'requires' },
  { from: 'web', token: 'db@1', to: 'database', kind: 'ref' },
  { from: 'web', token: 'db.admin@1', to: 'database', kind: 'optional' },
  { from: 'web', token: 'db.admin@1', to: 'database', kind: 'ref' },
  { from: 'web', token: 'http@1', to: 'http', kind: 'optional' },
  { from: 'web', token: 'http', to: 'http', kind: 'after' },
  { from: 'web', token: 'mesh@1', to: null, kind: 'optional' },
  { from: 'http', token: 'mesh@1', to: null, kind: 'requires' }
]

async function draw(t: Test, input: object): Promise<string> {
  const kernel = await testPlugin(cli, { services: [fake(kernelAdmin, fakeAdmin([], { graph: () => EDGES }))] })
  t.teardown(() => kernel.close())
  return ((await kernel.callById('kernel.plugins.graph', input)) as { text: string }).text
}

t.test('the text has one line for each dependency, with each service once', async t => {
  t.equal(
    await draw(t, {}),
    [
      'web',
      '├─ database: db@1, db.admin@1 [optional]',
      '├─ http: http@1 [optional], starts after it',
      '│  └─ (no provider): mesh@1',
      '└─ (no provider): mesh@1 [optional]'
    ].join('\n')
  )
})

t.test('Graphviz source has one edge between two nodes, and a dashed node for an absent provider', async t => {
  t.equal(
    await draw(t, { dot: true }),
    [
      'digraph plugins {',
      '  rankdir = LR',
      '  "no provider of mesh@1" [label="mesh@1\\nno provider", style=dashed]',
      '  "web" -> "database" [label="db@1\\ndb.admin@1 [optional]", style=solid]',
      '  "web" -> "http" [label="http@1 [optional]\\nstarts after it", style=dashed]',
      '  "web" -> "no provider of mesh@1" [label="mesh@1 [optional]", style=dashed]',
      '  "http" -> "no provider of mesh@1" [label="mesh@1", style=solid]',
      '}'
    ].join('\n')
  )
})

t.test('Mermaid source declares each node once and has one edge between two nodes', async t => {
  t.equal(
    await draw(t, { mermaid: true }),
    [
      'graph LR',
      '  n0["web"]',
      '  n1["database"]',
      '  n2["http"]',
      '  n3["mesh@1<br>no provider"]:::absent',
      '  n0 -->|"db@1<br>db.admin@1 [optional]"| n1',
      '  n0 -.->|"http@1 [optional]<br>starts after it"| n2',
      '  n0 -.->|"mesh@1 [optional]"| n3',
      '  n2 -->|"mesh@1"| n3',
      '  classDef absent stroke-dasharray: 4'
    ].join('\n')
  )
})
