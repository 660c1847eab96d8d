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

t.test('nothing changed: nothing to do', t => {
  const { graph, desired, running } = world([manifest('db', [], ['db@1']), manifest('web', ['db@1'])])
  t.match(planChange(running, desired, graph, new Set()), { add: [], replace: [], remove: [], steps: [] })
  t.end()
})

t.test('replacing a provider replaces those who hold its service, and spares those with a reference', t => {
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

t.test('a provider that goes takes its users along, users first', t => {
  const before = world([manifest('db', [], ['db@1']), manifest('web', ['db@1'])])
  const after = world([manifest('web', ['db@1'])])
  const plan = planChange(before.running, after.desired, after.graph, new Set())
  t.same(plan.remove, ['web', 'db'])
  t.match(plan.steps.join('\n'), /remove web: needs db@1/)
  t.end()
})

t.test(
  'for any two worlds: every running unit is kept, replaced or removed, and every wanted one is kept, replaced or added',
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
        // A kept unit must not hold a service of something that is not kept.
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

t.test('a provider that is known and not activated is as if it were not there', t => {
  const user = { ...manifest('user'), optional: ['db@1'] as ServiceId[] }
  const { graph, desired, running } = world([manifest('db', [], ['db@1']), user])
  const alone = new Map([...desired].filter(([name]) => name === 'user'))
  const now = new Map([['user', { ...running.get('user')!, bindings: new Map() }]])
  t.same(planChange(now, alone, graph, new Set()).steps, [])
  t.end()
})
