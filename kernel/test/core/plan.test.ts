import type { PluginManifest, ServiceId } from '@svc/plugin-sdk'
import fc from 'fast-check'
import t from 'tap'
import { type Fingerprinted, planChange, type RunningUnit, resolveGraph } from '#core'

const manifest = (
  name: string,
  requires: ServiceId[] = [],
  provides: ServiceId[] = [],
  refs: ServiceId[] = []
): PluginManifest => ({
  manifest: 1,
  name,
  version: '1.0.0',
  summary: '',
  sdk: 1,
  requires,
  optional: [],
  refs,
  after: [],
  provides,
  operations: [],
  points: [],
  hooks: [],
  commands: [],
  config: {},
  permissions: {},
  enabledByDefault: true
})

const world = (manifests: PluginManifest[], fingerprint: (name: string) => string = () => 'v1') => {
  const graph = resolveGraph(manifests, new Set())
  const desired = new Map<string, Fingerprinted>(
    manifests
      .filter(each => graph.order.includes(each.name))
      .map(each => [each.name, { manifest: each, fingerprint: fingerprint(each.name) }])
  )
  const running = new Map<string, RunningUnit>(
    [...desired].map(([name, each]) => [
      name,
      {
        ...each,
        bindings: new Map(
          graph.edges
            .filter(edge => edge.from === name && edge.to !== null)
            .map(edge => [edge.token, edge.to as string])
        )
      }
    ])
  )
  return { graph, desired, running }
}

t.test('the plan is empty if nothing changed', t => {
  const { graph, desired, running } = world([manifest('db', [], ['db@1']), manifest('web', ['db@1'])])
  t.match(planChange(running, desired, graph, new Set()), { add: [], replace: [], remove: [], steps: [] })
  t.end()
})

t.test('replacing a provider replaces holders of its service, but not users with a reference', t => {
  const { graph, desired, running } = world([
    manifest('db', [], ['db@1']),
    manifest('web', ['db@1']),
    manifest('stats', ['db@1'], [], ['db@1'])
  ])
  const plan = planChange(running, desired, graph, new Set(['db']))
  t.same(plan.replace, ['db', 'web'])
  t.same(plan.keep, ['stats'])
  t.match(plan.steps, ['replace db: requested', 'replace web: it holds db@1 of db'])
  t.end()
})

t.test('removing a provider removes its users first', t => {
  const before = world([manifest('db', [], ['db@1']), manifest('web', ['db@1'])])
  const after = world([manifest('web', ['db@1'])])
  const plan = planChange(before.running, after.desired, after.graph, new Set())
  t.same(plan.remove, ['web', 'db'])
  t.match(plan.steps.join('\n'), /remove web: needs db@1/)
  t.end()
})

t.test(
  'for any plan: each running unit is kept, replaced or removed; each desired one is kept, replaced or added',
  t => {
    const names = ['a', 'b', 'c', 'd']
    const arbitraryWorld = fc.subarray(names).chain(chosen =>
      fc.tuple(
        ...chosen.map(name =>
          fc.record({
            name: fc.constant(name),
            needs: fc.subarray(names.filter(other => other < name)),
            version: fc.integer({ min: 1, max: 2 })
          })
        )
      )
    )
    const build = (specs: { name: string; needs: string[]; version: number }[]) =>
      world(
        specs.map(({ name, needs }) =>
          manifest(
            name,
            needs.map((need): ServiceId => `${need}@1`),
            [`${name}@1`]
          )
        ),
        name => `v${specs.find(spec => spec.name === name)?.version}`
      )
    fc.assert(
      fc.property(arbitraryWorld, arbitraryWorld, (one, two) => {
        const [before, after] = [build(one), build(two)]
        const plan = planChange(before.running, after.desired, after.graph, new Set())
        const sorted = (list: readonly string[]): string => [...list].sort().join()
        const runs = sorted([...before.running.keys()]) === sorted([...plan.keep, ...plan.replace, ...plan.remove])
        const wanted = sorted([...after.desired.keys()]) === sorted([...plan.keep, ...plan.replace, ...plan.add])
        // A kept unit must not hold a service of a unit that is not kept.
        const sound = plan.keep.every(name =>
          after.graph.edges
            .filter(edge => edge.from === name && edge.kind === 'requires')
            .every(edge => plan.keep.includes(edge.to as string))
        )
        return runs && wanted && sound
      })
    )
    t.end()
  }
)

t.test('an optional reference does not tie its holder to the provider', t => {
  const stats = { ...manifest('stats', [], [], ['db@1']), optional: ['db@1'] as ServiceId[] }
  const { graph, desired, running } = world([manifest('db', [], ['db@1']), stats])
  t.same(planChange(running, desired, graph, new Set(['db'])).keep, ['stats'])
  t.end()
})

t.test('a known provider that is not activated counts as absent', t => {
  const user = { ...manifest('user'), optional: ['db@1'] as ServiceId[] }
  const { graph, desired, running } = world([manifest('db', [], ['db@1']), user])
  const alone = new Map([...desired].filter(([name]) => name === 'user'))
  const now = new Map([['user', { ...running.get('user')!, bindings: new Map() }]])
  t.same(planChange(now, alone, graph, new Set()).steps, [])
  t.end()
})

t.test('each step has its reason; providers come first, removals last', t => {
  const before = world([
    manifest('db', [], ['db@1']),
    manifest('web', ['db@1'], ['web@1']),
    manifest('old'),
    manifest('older'),
    manifest('code')
  ])
  const after = world(
    [
      manifest('db', [], ['db@1']),
      manifest('web', ['db@1'], ['web@1']),
      manifest('ui', ['web@1']),
      manifest('needy', ['gone@1']),
      manifest('code')
    ],
    name => (name === 'code' ? 'v2' : 'v1')
  )
  const plan = planChange(before.running, after.desired, after.graph, new Set(['db', 'absent', 'ui']))
  t.same(plan.steps, [
    'replace code: its code or settings changed',
    'replace db: requested',
    'replace web: it holds db@1 of db',
    'add ui',
    'remove older: disabled or removed',
    'remove old: disabled or removed'
  ])
  t.same(plan, { ...plan, add: ['ui'], replace: ['code', 'db', 'web'], remove: ['older', 'old'], keep: [] })
  t.end()
})

t.test('a running plugin that becomes blocked is removed, with the reason', t => {
  const { running } = world([manifest('db', [], ['db@1']), manifest('web', ['db@1'])])
  const after = world([manifest('web', ['db@1'])])
  // Like a quarantined plugin that should run but cannot.
  const desired = new Map([...after.desired, ['web', { manifest: manifest('web', ['db@1']), fingerprint: 'v1' }]])
  const plan = planChange(running, desired, after.graph, new Set())
  t.same(plan.remove, ['web', 'db'])
  t.equal(plan.steps[0], 'remove web: needs db@1: no known plugin provides it')
  t.end()
})

t.test('adding, changing or removing an optional provider replaces its holder', t => {
  const user = { ...manifest('user'), optional: ['db@1'] as ServiceId[] }
  const without = world([user])
  const one = world([user, manifest('one', [], ['db@1'])])
  const two = world([user, manifest('two', [], ['db@1'])])
  const steps = (from: ReturnType<typeof world>, to: ReturnType<typeof world>): string | undefined =>
    planChange(from.running, to.desired, to.graph, new Set()).steps.find(step => step.startsWith('replace user'))
  t.equal(steps(without, one), 'replace user: db@1 now comes from one')
  t.equal(steps(one, two), 'replace user: db@1 now comes from two')
  t.equal(steps(one, without), 'replace user: db@1 has no provider now')
  t.equal(steps(one, one), undefined)
  t.equal(steps(without, without), undefined)
  t.end()
})

t.test('a replacement propagates along holders and stops at a reference', t => {
  const { graph, desired, running } = world([
    manifest('a', [], ['a@1']),
    manifest('b', ['a@1'], ['b@1']),
    manifest('c', ['b@1'], ['c@1'], ['b@1']),
    manifest('d', ['c@1'], ['d@1']),
    manifest('e', ['d@1', 'b@1'])
  ])
  const plan = planChange(running, desired, graph, new Set(['a']))
  t.same(plan.replace, ['a', 'b', 'e'])
  t.same(plan.keep, ['c', 'd'])
  t.match(plan.steps.at(-1), 'replace e: it holds b@1 of b')
  t.end()
})

t.test('holding a service of the kernel never causes a replacement', t => {
  const manifests = [manifest('user', ['kernel.port@1'])]
  const graph = resolveGraph(manifests, new Set(['kernel.port@1']))
  const unit = { manifest: manifests[0]!, fingerprint: 'v1' }
  const running = new Map([['user', { ...unit, bindings: new Map([['kernel.port@1', 'kernel']]) }]])
  t.same(planChange(running, new Map([['user', unit]]), graph, new Set()).keep, ['user'])
  t.end()
})

t.test('for any reload: exactly the direct and indirect holders are replaced', t => {
  const names = ['a', 'b', 'c', 'd', 'e']
  const edges = fc.tuple(
    ...names.map((_, index) =>
      fc.record({ holds: fc.subarray(names.slice(0, index)), refers: fc.subarray(names.slice(0, index)) })
    )
  )
  fc.assert(
    fc.property(edges, fc.subarray(names), fc.subarray(names), (parts, forced, changed) => {
      const token = (name: string): ServiceId => `${name}@1`
      const manifests = parts.map(({ holds, refers }, index) => {
        const own = [...new Set([...holds, ...refers])].map(token)
        return manifest(names[index]!, own, [token(names[index]!)], refers.map(token))
      })
      const before = world(manifests)
      const after = world(manifests, name => (changed.includes(name) ? 'v2' : 'v1'))
      const plan = planChange(before.running, after.desired, after.graph, new Set(forced))
      const dirty = new Set([...forced, ...changed])
      for (const [index, { holds, refers }] of parts.entries())
        if (holds.some(each => dirty.has(each) && !refers.includes(each))) dirty.add(names[index]!)
      const replaced = names.filter(name => dirty.has(name))
      return (
        [...plan.replace].sort().join() === replaced.join() &&
        [...plan.keep].sort().join() === names.filter(name => !dirty.has(name)).join() &&
        plan.add.length + plan.remove.length === 0 &&
        plan.steps.length === replaced.length
      )
    })
  )
  t.end()
})
