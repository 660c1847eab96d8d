import { mkdirSync, writeFileSync } from 'node:fs'
import { totalmem } from 'node:os'
import { join } from 'node:path'
import { type DatabaseStore, databaseStore, resourceLimits, surfaces } from '@svc/contracts'
import database from '@svc/plugin-database'
import { definePlugin } from '@svc/plugin-sdk'
import { testKernel } from '@svc/plugin-sdk/testing'
import t from 'tap'
import plugin from '#plugin'
import { judge, type Measurement, measure, memoryOf, Watcher } from '#root'

const MIB = 1_048_576
const SETTINGS = {
  interval_s: 60,
  disk_warn_mb: 1_000,
  disk_refuse_mb: 100,
  memory_warn_percent: 90,
  heap_warn_percent: 80
}

function measured(more: Partial<Measurement> = {}): Measurement {
  return {
    at: 1,
    disk_free_bytes: 5_000 * MIB,
    disk_size_bytes: 10_000 * MIB,
    memory_used_bytes: 100 * MIB,
    memory_limit_bytes: 1_000 * MIB,
    memory_source: 'cgroup',
    rss_bytes: 80 * MIB,
    heap_used_bytes: 10 * MIB,
    heap_limit_bytes: 100 * MIB,
    ...more
  }
}

const disk = (mib: number): Measurement => measured({ disk_free_bytes: mib * MIB })

t.test('a warning begins at its limit, and ends only when there is clearly more room', async t => {
  const levels = (mib: number, before: ReturnType<typeof judge>): string[] =>
    judge(disk(mib), SETTINGS, before).map(({ resource, level }) => `${resource} ${level}`)
  t.same(levels(1_001, []), [])
  const warned = judge(disk(999), SETTINGS, [])
  t.match(warned, [{ resource: 'disk', level: 'warn', message: /999 MiB of 10000 MiB free/, hint: /100 MiB/ }])
  t.same(levels(1_050, warned), ['disk warn'])
  t.same(levels(1_101, warned), [])
  const refused = judge(disk(99), SETTINGS, warned)
  t.match(refused, [{ level: 'refuse', hint: /disk_refuse_mb/ }])
  t.same(levels(105, refused), ['disk refuse'])
  t.same(levels(111, refused), ['disk warn'])
  t.same(judge(disk(0), { ...SETTINGS, disk_warn_mb: 0, disk_refuse_mb: 0 }, []), [], '0 switches a limit off')
})

t.test('memory of the container and the heap have separate limits', async t => {
  const tight = measured({ memory_used_bytes: 901 * MIB, heap_used_bytes: 81 * MIB })
  t.match(judge(tight, SETTINGS, []), [
    { resource: 'memory', message: 'the container uses 901 MiB of 1000 MiB', hint: /svc itself uses 80 MiB/ },
    { resource: 'heap', message: /JavaScript heap/ }
  ])
  t.same(judge(tight, { ...SETTINGS, memory_warn_percent: 0, heap_warn_percent: 0 }, []), [])
})

t.test('the limit of the tightest control group counts, without reclaimable caches', async t => {
  const root = t.testdir()
  const group = join(root, 'outer', 'inner')
  mkdirSync(group, { recursive: true })
  const write = (folder: string, max: string): void => {
    writeFileSync(join(folder, 'memory.max'), `${max}\n`)
    writeFileSync(join(folder, 'memory.current'), `${50 * MIB}\n`)
    writeFileSync(join(folder, 'memory.stat'), `anon 1\ninactive_file ${20 * MIB}\n`)
  }
  write(group, 'max')
  write(join(root, 'outer'), String(60 * MIB))
  writeFileSync(join(root, 'self'), '0::/outer/inner\n')
  t.match(await memoryOf(root, join(root, 'self')), {
    memory_source: 'cgroup',
    memory_used_bytes: 30 * MIB,
    memory_limit_bytes: 60 * MIB
  })
  t.match(await memoryOf(root, join(root, 'missing')), { memory_source: 'machine', memory_limit_bytes: totalmem() })
})

t.test('a folder that does not exist yet is measured by its disk', async t => {
  const { disk_free_bytes, disk_size_bytes } = await measure(join(t.testdir(), 'not', 'yet'))
  t.ok(disk_free_bytes > 0 && disk_size_bytes >= disk_free_bytes)
})

t.test('each change is logged once, and announced', async t => {
  const lines: string[] = []
  let [free, changes] = [5_000, 0]
  const log = (level: string) => (message: string) => void lines.push(`${level} ${message}`)
  const watcher = new Watcher({
    measure: async () => disk(free),
    settings: () => SETTINGS,
    log: { info: log('info'), warn: log('warn'), error: log('error') },
    changed: () => (changes += 1)
  })
  for (const next of [5_000, 900, 900, 50, 50, 5_000]) {
    free = next
    await watcher.look()
    t.equal(watcher.refusal === null, next > 100)
  }
  t.match(lines, [/^warn .*900 MiB/, /^error .*50 MiB/, /^info disk/])
  t.equal(changes, 3)
})

t.test('below the limit the database refuses writes, but not reads and deletions', async t => {
  let store: DatabaseStore | undefined
  const user = definePlugin({
    name: 'user',
    requires: { store: databaseStore },
    activate: (_ctx, deps) => {
      store = deps.store
    }
  })
  let refusal: string | null = null
  const limits = definePlugin({
    name: 'other-limits',
    provides: [resourceLimits],
    activate: ctx =>
      ctx.provide(resourceLimits, {
        get refusal() {
          return refusal
        }
      })
  })
  const kernel = await testKernel([limits, database, user])
  t.teardown(() => kernel.close())
  const used = store as unknown as DatabaseStore
  await used.migrate('CREATE TABLE note (id INTEGER PRIMARY KEY)')
  await used.execute('INSERT INTO note VALUES (1), (2)')
  refusal = 'the disk of the state folder has 1 MiB of 100 MiB free'
  const refused = { code: 'DBS_FULL', message: /store\.db: writes are refused, since the disk .* 1 MiB/ }
  await t.rejects(used.execute('INSERT INTO note VALUES (3)'), refused)
  await t.rejects(used.batch([{ sql: 'DELETE FROM note' }, { sql: 'INSERT INTO note VALUES (3)' }]), refused)
  await t.rejects(
    used.transaction(tx => tx.execute('INSERT INTO note VALUES (3)')),
    refused
  )
  await t.rejects(used.migrate('CREATE TABLE other (id INTEGER)'), refused)
  await used.execute('DELETE FROM note WHERE id = 2')
  t.same((await used.query('SELECT id FROM note')).rows, [[1]])
  refusal = null
  await used.execute('INSERT INTO note VALUES (3)')
})

t.test('status, inbox and metrics of a server show a limit that is passed', async t => {
  let metrics = async (): Promise<string> => ''
  const reader = definePlugin({
    name: 'reader',
    activate: ctx =>
      ctx.contribute(surfaces, {
        async prepare(next) {
          const { metricsText } = await import('@svc/contracts')
          const items = next.items(metricsText)
          return {
            commit() {
              metrics = async () => (await Promise.all(items.map(({ item }) => item.render()))).join('')
            },
            abort: () => undefined
          }
        }
      })
  })
  const settings = { limits: { disk_warn_mb: 2 ** 40, disk_refuse_mb: 0 } }
  const kernel = await testKernel([plugin, reader], { settings })
  t.teardown(() => kernel.close())
  t.match(await kernel.callById('limits.status', {}), {
    healthy: false,
    refuses_writes: false,
    warnings: [{ resource: 'disk', level: 'warn' }],
    text: /warning: the disk/
  })
  t.match(await kernel.callById('limits.inbox', {}), { items: [{ id: 'disk warn', title: 'The disk is nearly full' }] })
  const text = await metrics()
  t.match(text, /^svc_disk_free_bytes \d+$/m)
  t.match(text, /^svc_limit_warnings 1$/m)
})
