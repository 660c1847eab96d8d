import { join } from 'node:path'
import t from 'tap'
import { availableMemory, type DecoderConfig, MAX_SLOTS, type MemoryRequest, parseModelConfig, planMemory } from '#root'
import { bareHost } from './support/hosts.ts'
import { fixtures, openEngine } from './support/models.ts'

const GIB = 2 ** 30

/** Configuration with the shape of Qwen2.5-0.5B. */
const config: DecoderConfig = parseModelConfig(
  'config.json',
  {
    model_type: 'qwen2',
    hidden_size: 896,
    intermediate_size: 4864,
    num_hidden_layers: 24,
    num_attention_heads: 14,
    num_key_value_heads: 2,
    vocab_size: 151_936,
    max_position_embeddings: 32_768,
    tie_word_embeddings: true
  },
  null
)

const request: MemoryRequest = {
  config,
  quantization: 'none',
  ownHead: false,
  numberBytes: 4,
  storedBytes: 2,
  slots: 1,
  contextLength: 32_768,
  chunk: 256,
  device: 'cpu',
  available: { bytes: 16 * GIB, source: 'free memory of the machine' }
}

t.test('computes the size of the weights, by representation', async t => {
  const parameters = 494_032_768
  const none = planMemory(request).weightBytes
  t.ok(Math.abs(none / (parameters * 4) - 1) < 0.01, `${none}`)
  const [linear, vocabulary] = [parameters - 151_936 * 896, 151_936 * 896]
  const q8 = planMemory({ ...request, quantization: 'q8' }).weightBytes
  t.ok(Math.abs(q8 / (linear + 3 * vocabulary) - 1) < 0.02, `${q8}`)
  const q4 = planMemory({ ...request, quantization: 'q4' }).weightBytes
  t.ok(Math.abs(q4 / (0.625 * linear + 3 * vocabulary) - 1) < 0.02, `${q4}`)
  t.equal(planMemory({ ...request, numberBytes: 2 }).weightBytes * 2, none + 24 * 4 * 896 * 4)
  t.equal(planMemory({ ...request, ownHead: true }).weightBytes, none + vocabulary * 4)
})

t.test('computes the size of a slot', async t => {
  t.equal(planMemory(request).slotBytes, 4 * 2 * 24 * 2 * 64 * 32_768)
})

t.test('includes rotary tables for the whole context, one per rotary embedding', async t => {
  const workspace = (contextLength: number, of = config) =>
    planMemory({ ...request, config: of, contextLength }).workspaceBytes
  t.equal(workspace(32_768) - workspace(4096), 2 * 32 * 4 * (32_768 - 4096))
  const windowed = { ...config, windowRope: { ...config.rope } }
  t.equal(workspace(32_768, windowed) - workspace(32_768), 2 * 32 * 4 * 32_768)
})

t.test('auto selects as many slots with full contexts as fit', async t => {
  const slots = (gib: number | null) =>
    planMemory({
      ...request,
      slots: 'auto',
      available: gib === null ? null : { bytes: gib * GIB, source: 'free memory' }
    }).slots
  t.equal(slots(64), MAX_SLOTS)
  const some = slots(8)
  t.ok(some > 1 && some < MAX_SLOTS, `${some}`)
  t.ok(slots(4) < some)
  t.equal(slots(3), 1)
  t.equal(slots(null), 1, 'one slot if the memory is unknown')
})

t.test('a model that does not fit is rejected with the numbers before any allocation', async t => {
  const available = { bytes: 1.5 * GIB, source: 'the rest of the cgroup limit' }
  t.throws(() => planMemory({ ...request, available }), {
    code: 'INF_OUT_OF_MEMORY',
    message:
      /^The model does not fit on cpu: 1\.84 GiB of weights \(quantization none\), 96 MiB for one context of 4096 tokens .* need .* but the rest of the cgroup limit is 1\.50 GiB$/,
    hint: /quantization q8 or q4, or with a smaller maxContext/,
    data: { device: 'cpu', slots: 1, availableBytes: 1.5 * GIB }
  })
  t.equal(planMemory({ ...request, quantization: 'q4', available }).slots, 1)
  t.throws(() => planMemory({ ...request, quantization: 'q4', slots: 100, available }), {
    code: 'INF_OUT_OF_MEMORY',
    message: /100 contexts of 4096 tokens/,
    hint: /fewer slots/
  })
  t.equal(planMemory({ ...request, available: null, slots: 1000 }).slots, 1000)
})

t.test('uses the free memory of the machine or the rest of the cgroup limit', async t => {
  const meminfo = 'MemTotal:       16000000 kB\nMemFree:         1000000 kB\nMemAvailable:    8000000 kB\n'
  const read = async (files: Record<string, string>) => {
    const { bytes, source } = await availableMemory((await bareHost(t, { files })).root)
    return [bytes, source.includes('cgroup')]
  }
  t.same(await read({ '/proc/meminfo': meminfo }), [8_000_000 * 1024, false])
  const two = { '/proc/meminfo': meminfo, '/proc/self/cgroup': '0::/a/b\n', '/sys/fs/cgroup/a/b/memory.max': 'max\n' }
  t.same(await read(two), [8_000_000 * 1024, false], 'a cgroup without a limit')
  const limited = {
    ...two,
    '/sys/fs/cgroup/a/memory.max': '4000\n',
    '/sys/fs/cgroup/a/memory.current': '3000\n',
    '/sys/fs/cgroup/a/memory.stat': 'active_file 5\ninactive_file 500\n'
  }
  t.same(await read(limited), [1500, true], 'the limit of a parent cgroup applies; reclaimable pages count as free')
  const one = {
    '/proc/meminfo': meminfo,
    '/proc/self/cgroup': '5:cpu:/x\n4:memory:/docker/c\n',
    '/sys/fs/cgroup/memory/memory.limit_in_bytes': '9000\n',
    '/sys/fs/cgroup/memory/memory.usage_in_bytes': '2000\n',
    '/sys/fs/cgroup/memory/memory.stat': 'inactive_file 1\ntotal_inactive_file 100\n'
  }
  t.same(await read(one), [7001, true])
  const endless = { ...one, '/sys/fs/cgroup/memory/memory.limit_in_bytes': '9223372036854771712\n' }
  t.same(await read(endless), [8_000_000 * 1024, false])
})

t.test('a load with auto uses as many slots as fit', async t => {
  const engine = await openEngine(t)
  const model = await engine.load({ runDirectory: join(fixtures, 'qwen2-tiny'), device: 'cpu', slots: 'auto' })
  t.equal(model.capacity().slots, MAX_SLOTS)
  await model.close()
})
