import { Validator } from '@seriousme/openapi-schema-validator'
import { kernelAdmin, metricsText, type ReadinessResult, readiness } from '@svc/contracts'
import { defineOperation, definePlugin, type JsonSchema, type Plugin, t } from '@svc/plugin-sdk'
import tap from 'tap'
import { operationPlugin, things } from './echo.ts'
import { openWorld, type World } from './world.ts'

const get = async (world: World, path: string): Promise<any> => (await fetch(world.url(path))).json()

function checks(name: string, results: Record<string, () => ReadinessResult | Promise<ReadinessResult>>): Plugin {
  return definePlugin({
    name,
    activate(ctx) {
      for (const [check, run] of Object.entries(results)) ctx.contribute(readiness, { name: check, check: run })
    }
  })
}

tap.test('/health reports the serving generation', async tap => {
  const world = await openWorld([things])
  tap.teardown(() => world.close())
  tap.match(await get(world, '/health'), { status: 'ok', version: String, uptime_s: Number, generation: 1 })
  await world.kernel.replace(checks('more', {}))
  tap.match(await get(world, '/health'), { generation: 2 })
})

tap.test('/ready runs the checks of all plugins', async tap => {
  let schema = 1
  const world = await openWorld([
    checks('database', {
      schema: () => ({ ok: schema === 1, detail: `schema is ${schema}`, data: { schema_version: schema } }),
      connection: async () => ({ ok: true })
    })
  ])
  tap.teardown(() => world.close())
  const good = await fetch(world.url('/ready'))
  tap.equal(good.status, 200)
  tap.same(await good.json(), {
    status: 'ready',
    schema_version: 1,
    checks: [
      { name: 'schema', plugin: 'database', ok: true, detail: 'schema is 1' },
      { name: 'connection', plugin: 'database', ok: true }
    ]
  })
  schema = 2
  const bad = await fetch(world.url('/ready'))
  tap.equal(bad.status, 503)
  tap.match(await bad.json(), {
    status: 'not_ready',
    schema_version: 2,
    checks: [{ ok: false, detail: 'schema is 2' }, { ok: true }]
  })

  await world.kernel.replace(
    checks('broken', {
      throws: () => {
        throw new Error('password=hunter2')
      }
    })
  )
  const text = await (await fetch(world.url('/ready'))).text()
  tap.match(
    JSON.parse(text).checks.find((each: any) => each.plugin === 'broken'),
    { name: 'throws', ok: false, detail: /see the log/ }
  )
  tap.notMatch(text, /hunter2/)
})

tap.test('/metrics counts requests by plugin, route and status', async tap => {
  const hand = definePlugin({
    name: 'hand',
    activate(ctx) {
      ctx.contribute(metricsText, {
        render: () => '# HELP svc_generation Again.\n# TYPE svc_generation gauge\nsvc_generation 99\nhand_total 5\n'
      })
      ctx.contribute(metricsText, {
        render: async () => {
          throw new Error('no metrics today')
        }
      })
    }
  }) as Plugin
  const world = await openWorld([things, hand])
  tap.teardown(() => world.close())
  for (const path of ['/v1/things/1', '/v1/things/2', '/v1/things/3?limit=x', '/nowhere']) {
    await (await fetch(world.url(path))).text()
  }
  const scrape = async (): Promise<string> => (await fetch(world.url('/metrics'))).text()
  let text = await scrape()
  const has = (line: string): boolean => tap.ok(text.split('\n').includes(line), line)
  const labels = 'plugin="things",method="GET",route="/v1/things/:id"'
  has(`svc_http_requests_total{${labels},status="200"} 2`)
  has(`svc_http_requests_total{${labels},status="400"} 1`)
  has('svc_http_requests_total{plugin="http",method="-",route="(unmatched)",status="404"} 1')
  has(`svc_http_request_duration_seconds_bucket{${labels},le="+Inf"} 3`)
  has(`svc_http_request_duration_seconds_count{${labels}} 3`)
  has('svc_http_requests_in_flight 1')
  has('svc_generation 1')
  has('hand_total 5')
  tap.match(text, /^nodejs_eventloop_lag_p99_seconds /m)
  tap.match(text, /^process_resident_memory_bytes \d/m)
  tap.equal(text.split('# TYPE svc_generation ').length, 2, 'no family appears twice')
  tap.ok(world.kernel.log.some(line => line.message === 'metrics failed' && line.fields.plugin === 'hand'))

  await world.reloadHttp()
  text = await scrape()
  has(`svc_http_requests_total{${labels},status="200"} 2`)
})

tap.test("/metrics shows the kernel's counters per plugin, which continue across reloads", async tap => {
  const world = await openWorld([things])
  tap.teardown(() => world.close())
  const scrape = async (): Promise<string> => (await fetch(world.url('/metrics'))).text()
  for (const path of ['/v1/things/1', '/v1/things/2?limit=x']) await (await fetch(world.url(path))).text()
  await world.kernel.replace(things)
  await (await fetch(world.url('/v1/things/3'))).text()
  const text = await scrape()
  const value = (name: string): number => Number(new RegExp(`^${name}\\{plugin="things"\\} (.*)$`, 'm').exec(text)?.[1])
  tap.equal(value('svc_plugin_calls_total'), 3)
  tap.equal(value('svc_plugin_call_failures_total'), 1)
  tap.ok(value('svc_plugin_call_seconds_total') > 0)
  tap.equal(value('svc_plugin_in_flight'), 0)
  tap.equal(value('svc_plugin_degraded'), 0)
})

const stream = defineOperation({
  id: 'jobs.watch',
  summary: 'Watches a job',
  description: 'Until it ends.',
  effect: 'read',
  input: { ...t.object({ id: t.string(), node: t.unknown() }), ...definitions() } as JsonSchema,
  output: t.object({ done: t.boolean() }),
  events: t.object({ line: t.string() }),
  errors: {
    JOB_GONE: { message: 'The job does not exist.', status: 404 },
    JOB_LOST: { message: 'The job was lost.', status: 404 }
  },
  scopes: ['jobs'],
  expose: { http: { method: 'GET', path: '/v1/jobs/:id' } }
})

/** Returns a recursive schema. */
function definitions(): object {
  return {
    properties: { id: { type: 'string' }, node: { $ref: '#/$defs/node' } },
    $defs: { node: { type: 'object', properties: { next: { $ref: '#/$defs/node' } } } }
  }
}

tap.test('/openapi.json describes the generation and validates', async tap => {
  const sibling = defineOperation({
    id: 'jobs.drop',
    summary: 'Drops a job',
    input: t.object({ job: t.string() }),
    output: t.unknown(),
    expose: { http: { method: 'DELETE', path: '/v1/jobs/:job' } }
  })
  const world = await openWorld([
    things,
    operationPlugin('jobs', stream, () => ({ done: true })),
    operationPlugin('drop', sibling, () => null)
  ])
  tap.teardown(() => world.close())
  const response = await fetch(world.url('/openapi.json'))
  const api = (await response.json()) as any
  const result = await new Validator().validate(structuredClone(api))
  tap.equal(result.valid, true, JSON.stringify(result.errors))
  tap.equal(api.openapi, '3.1.1')
  const read = api.paths['/v1/things/{id}'].get
  tap.match(read, { operationId: 'things.read', 'x-plugin': 'things', tags: ['things'], 'x-effect': 'read' })
  tap.same(
    read.parameters.map((each: any) => [each.name, each.in, each.required]),
    [
      ['id', 'path', true],
      ['limit', 'query', false],
      ['deep', 'query', false],
      ['tags', 'query', false],
      ['filter', 'query', false],
      ['either', 'query', false]
    ]
  )
  const write = api.paths['/v1/shelves/{shelf}'].put
  tap.same(Object.keys(write.requestBody.content['application/json'].schema.properties), ['title', 'tags'])
  tap.ok(write.responses['201'])
  const watch = api.paths['/v1/jobs/{job}'].get
  tap.match(watch.responses['404'].description, /JOB_GONE: .*\n\nJOB_LOST/)
  tap.ok(watch.responses['200'].content['text/event-stream'])
  tap.same(watch['x-scopes'], ['jobs'])
  const node = '#/components/schemas/jobs.watch.input.node'
  tap.match(watch.parameters[1], { name: 'node', schema: { $ref: node } })
  tap.same(api.components.schemas['jobs.watch.input.node'].properties, { next: { $ref: node } })
  tap.match(
    api.paths['/v1/jobs/{job}'].delete.parameters[0],
    { name: 'job', in: 'path' },
    'paths that differ only in parameter names are one path'
  )

  const etag = response.headers.get('etag') as string
  const again = await fetch(world.url('/openapi.json'), { headers: { 'if-none-match': etag } })
  tap.equal(again.status, 304)
  tap.equal(await again.text(), '')
  await world.kernel.replace(checks('more', {}))
  const same = await fetch(world.url('/openapi.json'), { headers: { 'if-none-match': etag } })
  tap.equal(same.status, 304, 'a generation with the same operations has the same document')
  await world.kernel.replace(definePlugin({ name: 'drop', activate: () => {} }) as Plugin)
  const changed = await fetch(world.url('/openapi.json'), { headers: { 'if-none-match': etag } })
  tap.equal(changed.status, 200)
})

tap.test('/docs is a page that runs only its own script', async tap => {
  const world = await openWorld([things])
  tap.teardown(() => world.close())
  const page = await fetch(world.url('/docs'))
  const html = await page.text()
  tap.equal(page.headers.get('content-type'), 'text/html; charset=utf-8')
  tap.match(page.headers.get('content-security-policy'), /default-src 'none'/)
  tap.notMatch(page.headers.get('content-security-policy'), /unsafe/)
  tap.notMatch(html, /https?:\/\/|<script>|style=|\son\w+=/, 'the page has no inline or external scripts and styles')
  for (const [path, type] of [
    ['/docs/page.mjs', 'text/javascript; charset=utf-8'],
    ['/docs/sample.mjs', 'text/javascript; charset=utf-8'],
    ['/docs/page.css', 'text/css; charset=utf-8']
  ] as const) {
    const file = await fetch(world.url(path))
    tap.equal(file.headers.get('content-type'), type)
    tap.notMatch(await file.text(), /https?:\/\/|innerHTML/)
  }
})

tap.test('/metrics counts invalid plugins, /ready names them, and a setting makes /ready fail', async tap => {
  const plugins = [
    { name: 'http', state: 'active', why: null },
    { name: 'typo', state: 'invalid', why: 'plugin.ts:3:1 unexpected end' },
    { name: 'old', state: 'active', refused: true, why: 'last change refused: package.json is not JSON' }
  ]
  const services = [{ token: kernelAdmin, value: { plugins: () => plugins } as never }]
  for (const ready_requires_plugins of [false, true]) {
    const world = await openWorld([], { ready_requires_plugins }, services)
    tap.teardown(() => world.close())
    const response = await fetch(world.url('/ready'))
    tap.equal(response.status, ready_requires_plugins ? 503 : 200)
    tap.match(await response.json(), {
      status: ready_requires_plugins ? 'not_ready' : 'ready',
      invalid_plugins: [
        { name: 'typo', state: 'invalid', why: /unexpected end/ },
        { name: 'old', state: 'active', why: /package\.json is not JSON/ }
      ]
    })
    const metrics = await (await fetch(world.url('/metrics'))).text()
    tap.match(metrics, /^svc_plugins\{state="invalid"\} 1$/m)
    tap.match(metrics, /^svc_plugins\{state="active"\} 2$/m)
    tap.match(metrics, /^svc_plugin_change_refused\{plugin="old"\} 1$/m)
    tap.match(metrics, /^svc_plugin_change_refused\{plugin="http"\} 0$/m)
  }
})

tap.test(
  'a plugin whose change was refused still runs, so /ready is 200 even if it requires all plugins',
  async tap => {
    const plugins = [{ name: 'old', state: 'active', refused: true, why: 'last change refused: x' }]
    const services = [{ token: kernelAdmin, value: { plugins: () => plugins } as never }]
    const world = await openWorld([], { ready_requires_plugins: true }, services)
    tap.teardown(() => world.close())
    const response = await fetch(world.url('/ready'))
    tap.equal(response.status, 200)
    tap.match(await response.json(), { status: 'ready', invalid_plugins: [{ name: 'old' }] })
  }
)
