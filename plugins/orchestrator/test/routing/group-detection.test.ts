import t from 'tap'
import { AffinityGroups, detectGroups } from '#routing'

t.test('a repository without workspaces is one group', async t => {
  const groups = await detectGroups(t.testdir({ src: { 'a.txt': '' }, 'package.json': '{"name":"x"}' }))
  t.same(groups, [{ name: 'workspace', patterns: ['**/*'] }])
})

t.test('finds npm packages, except for excluded ones', async t => {
  const root = t.testdir({
    'package.json': JSON.stringify({ workspaces: ['core', 'packages/*', '!packages/old'] }),
    core: { 'package.json': JSON.stringify({ name: '@x/core' }) },
    packages: {
      'a(1)': { 'package.json': '{"name":"a"}' },
      old: { 'package.json': '{"name":"old"}' },
      broken: { 'package.json': '{' },
      empty: {},
      node_modules: { 'package.json': '{"name":"no"}' }
    }
  })
  const groups = new AffinityGroups(await detectGroups(root))
  t.same(
    groups.groups.map(({ name }) => name),
    ['node-a', 'node-broken', 'node-@x/core']
  )
  t.equal(groups.of('core/src/x.ts'), 'node-@x/core')
  t.equal(groups.of('packages/a(1)/x.ts'), 'node-a')
  t.equal(groups.of('packages/old/x.ts'), null)
})

t.test('reads npm workspaces declared as an object', async t => {
  const root = t.testdir({
    'package.json': '{"workspaces":{"packages":["p/**"]}}',
    p: { deep: { er: { 'package.json': '{}' } } }
  })
  t.same(await detectGroups(root), [{ name: 'node-er', patterns: ['p/deep/er/**'] }])
})

t.test('finds pnpm packages', async t => {
  const root = t.testdir({
    'package.json': '{}',
    'pnpm-workspace.yaml': "packages:\n  - 'apps/*'\n  - '!apps/old'\n",
    apps: { web: { 'package.json': '{"name":"web"}' }, old: { 'package.json': '{}' } }
  })
  t.same(await detectGroups(root), [{ name: 'node-web', patterns: ['apps/web/**'] }])
  const broken = t.testdir({ 'pnpm-workspace.yaml': 'packages: [' })
  t.same(await detectGroups(broken), [{ name: 'workspace', patterns: ['**/*'] }])
})

t.test('ignores YAML that is too deep for its parser, which could end the process', async t => {
  const packages = "packages: ['apps/*']\n"
  const apps = { web: { 'package.json': '{"name":"web"}' } }
  const small = t.testdir({ 'pnpm-workspace.yaml': packages, apps })
  t.same(await detectGroups(small), [{ name: 'node-web', patterns: ['apps/web/**'] }])
  for (const more of [
    '? '.repeat(100),
    '['.repeat(32_768),
    Array.from({ length: 5_000 }, (_, n) => `k${n}: 1`).join('\n')
  ]) {
    const root = t.testdir({ 'pnpm-workspace.yaml': `${packages}${more}`, apps })
    t.same(await detectGroups(root), [{ name: 'workspace', patterns: ['**/*'] }])
  }
})

t.test('finds crates of a workspace and of the folder crates, nested ones first', async t => {
  const root = t.testdir({
    'Cargo.toml': '[workspace]\nmembers = ["outer", "outer/inner", "gone"]\nexclude = ["crates/c"]\n',
    outer: {
      'Cargo.toml': '[package]\nname = "out"\n',
      inner: { 'Cargo.toml': '[package]\nname = "in"\n' }
    },
    crates: { b: { 'Cargo.toml': 'not toml' }, c: { 'Cargo.toml': '' } }
  })
  t.same(await detectGroups(root), [
    { name: 'b-group', patterns: ['crates/b/**'] },
    { name: 'in-group', patterns: ['outer/inner/**'] },
    { name: 'out-group', patterns: ['outer/**'] }
  ])
})

t.test('finds Python projects', async t => {
  const root = t.testdir({
    'pyproject.toml': '[project]\nname = "whole"\n[tool.uv.workspace]\nmembers = ["libs/*"]\n',
    libs: { one: { 'pyproject.toml': '' } }
  })
  t.same(await detectGroups(root), [
    { name: 'python-one', patterns: ['libs/one/**'] },
    { name: 'python-whole', patterns: ['**/*.py'] }
  ])
})

t.test('finds Go modules', async t => {
  const root = t.testdir({
    'go.work': 'go 1.22\nuse ./tool // near\nuse (\n  .\n  "./svc/api"\n)\n',
    'go.mod': 'module example.org/whole\n',
    tool: { 'go.mod': 'module example.org/x/tool\n' },
    svc: { api: { 'go.mod': '' } }
  })
  t.same(await detectGroups(root), [
    { name: 'go-api', patterns: ['svc/api/**'] },
    { name: 'go-tool', patterns: ['tool/**'] },
    { name: 'go-whole', patterns: ['**/*.go'] }
  ])
  const single = t.testdir({ single: { 'go.mod': 'module m\n' } })
  t.same(await detectGroups(`${single}/single`), [{ name: 'go-m', patterns: ['**/*.go'] }])
})

t.test('reads nothing outside the repository', async t => {
  const root = t.testdir({
    beside: { 'package.json': '{"name":"beside"}' },
    repository: { 'package.json': '{"workspaces":["../beside","../*"]}' }
  })
  t.same(await detectGroups(`${root}/repository`), [{ name: 'workspace', patterns: ['**/*'] }])
})
