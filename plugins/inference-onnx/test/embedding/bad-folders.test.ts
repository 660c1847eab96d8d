import { cp, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { OnnxEmbeddings } from '#embedding'
import { openEngine, temporaryFolder } from '../support/models.ts'
import { fixtures, openEmbeddings } from './support.ts'

const embeddings = await openEmbeddings(t)
const BYTES = 8

/** Copies a fixture, changes it, and loads it. */
async function load(t: Test, name: string, change: (folder: string) => Promise<unknown>) {
  const folder = t.testdir()
  await cp(join(fixtures, name), folder, { recursive: true })
  await change(folder)
  const model = await embeddings.load({ directory: folder })
  t.teardown(() => model.close())
  return model
}

const edit = (file: string, change: (value: any) => unknown) => async (folder: string) => {
  const path = join(folder, file)
  const value = JSON.parse(await readFile(path, 'utf8'))
  await writeFile(path, JSON.stringify(change(value) ?? value))
}
const remove = (file: string) => (folder: string) => rm(join(folder, file), { recursive: true })
const put = (file: string, text: string) => (folder: string) => writeFile(join(folder, file), text)

/** Returns a property of an object; functions are bound to it. */
function member(target: object, key: string | symbol): unknown {
  const value = Reflect.get(target, key, target)
  return typeof value === 'function' ? value.bind(target) : value
}

/** Overwrites a number of a tensor in a safetensors file. */
const poison = (tensor: string, value: number) => async (folder: string) => {
  const path = join(folder, 'model.safetensors')
  const bytes = await readFile(path)
  const length = Number(bytes.readBigUInt64LE(0))
  const header = JSON.parse(bytes.subarray(BYTES, BYTES + length).toString('utf8'))
  bytes.writeFloatLE(value, BYTES + length + header[tensor].data_offsets[0])
  await writeFile(path, bytes)
}

for (const [claim, fixture, change, code, message] of [
  ['no tokenizer', 'bert', remove('tokenizer.json'), 'INF_RUN_DIR_FILE_MISSING', /tokenizer\.json/],
  ['no weights', 'bert', remove('model.safetensors'), 'INF_RUN_DIR_FILE_MISSING', /model\.safetensors/],
  ['no pooling', 'bert', remove('1_Pooling'), 'INF_RUN_DIR_FILE_MISSING', /1_Pooling.config\.json/],
  ['modules that are no list', 'bert', put('modules.json', '{}'), 'INF_RUN_DIR_MALFORMED', /modules\.json/],
  ['modules that are no JSON', 'bert', put('modules.json', '['), 'INF_RUN_DIR_MALFORMED', /modules\.json/],
  [
    'a module outside of the folder',
    'bert',
    edit('modules.json', list => void (list[1].path = '../other')),
    'INF_RUN_DIR_PATH_UNSAFE',
    /"\.\.\/other"/
  ],
  [
    'an unsupported module',
    'bert',
    edit('modules.json', list => void (list[2].type = 'sentence_transformers.models.LSTM')),
    'INF_ARCHITECTURE_UNSUPPORTED',
    /LSTM/
  ],
  [
    'an unsupported pooling',
    'bert',
    edit('1_Pooling/config.json', each => ({
      ...each,
      pooling_mode_mean_tokens: false,
      pooling_mode_max_tokens: true
    })),
    'INF_ARCHITECTURE_UNSUPPORTED',
    /pooling_mode_max_tokens/
  ],
  [
    'two poolings',
    'bert',
    edit('1_Pooling/config.json', each => ({ ...each, pooling_mode_cls_token: true })),
    'INF_ARCHITECTURE_UNSUPPORTED',
    /pooling_mode_cls_token.*pooling_mode_mean_tokens/
  ],
  [
    'another family',
    'bert',
    edit('config.json', each => ({ ...each, model_type: 'deberta-v2' })),
    'INF_ARCHITECTURE_UNSUPPORTED',
    /"deberta-v2"/
  ],
  [
    'an unknown activation',
    'bert',
    edit('config.json', each => ({ ...each, hidden_act: 'selu' })),
    'INF_ARCHITECTURE_UNSUPPORTED',
    /hidden_act "selu"/
  ],
  [
    'relative positions',
    'bert',
    edit('config.json', each => ({ ...each, position_embedding_type: 'relative_key' })),
    'INF_ARCHITECTURE_UNSUPPORTED',
    /relative_key/
  ],
  [
    'heads that do not divide the size',
    'bert',
    edit('config.json', each => ({ ...each, num_attention_heads: 5 })),
    'INF_RUN_DIR_MALFORMED',
    /hidden_size/
  ],
  [
    'more layers than weights',
    'bert',
    edit('config.json', each => ({ ...each, num_hidden_layers: 3 })),
    'INF_RUN_DIR_TENSOR_MISSING',
    /encoder\.layer\.2/
  ],
  [
    'another shape',
    'bert',
    edit('config.json', each => ({ ...each, intermediate_size: 64 })),
    'INF_RUN_DIR_TENSOR_INVALID',
    /intermediate\.dense\.weight.*\[64, 32\]/
  ],
  [
    'lower-casing before the tokenizer',
    'bert',
    edit('sentence_bert_config.json', each => ({ ...each, do_lower_case: true })),
    'INF_ARCHITECTURE_UNSUPPORTED',
    /do_lower_case/
  ],
  [
    'an unknown default prompt',
    'bert',
    edit('config_sentence_transformers.json', each => ({ ...each, default_prompt_name: 'x' })),
    'INF_RUN_DIR_MALFORMED',
    /default_prompt_name/
  ],
  [
    'NaN in a weight',
    'bert',
    poison('encoder.layer.0.output.dense.weight', Number.NaN),
    'INF_RUN_DIR_TENSOR_INVALID',
    /output\.dense\.weight contains NaN at element 0/
  ],
  [
    'infinity in a static vector',
    'static',
    poison('embeddings', Number.POSITIVE_INFINITY),
    'INF_RUN_DIR_TENSOR_INVALID',
    /embeddings contains Infinity/
  ],
  [
    'several labels',
    'bert-reranker',
    edit('config.json', each => ({ ...each, id2label: { 0: 'a', 1: 'b' } })),
    'INF_ARCHITECTURE_UNSUPPORTED',
    /1 label/
  ],
  [
    'a reranker without pairs',
    'bert-reranker',
    edit('tokenizer.json', each => void (each.post_processor.pair = [])),
    'INF_TOKENIZER_UNSUPPORTED',
    /template of a pair/
  ],
  [
    'an exported graph with heads that are no number',
    'exported',
    edit('config.json', each => ({ ...each, num_attention_heads: 'x' })),
    'INF_RUN_DIR_MALFORMED',
    /num_attention_heads/
  ],
  [
    'an exported graph without a position after the padding token',
    'exported',
    edit('config.json', each => ({ ...each, model_type: 'mpnet', pad_token_id: 1e6 })),
    'INF_RUN_DIR_MALFORMED',
    /pad_token_id: 1000000 leaves none/
  ],
  [
    'a matrix after the pooling for vectors of another size',
    'distilbert',
    edit('2_Dense/config.json', each => ({ ...each, in_features: 31 })),
    'INF_RUN_DIR_MALFORMED',
    /2_Dense.*in_features/
  ],
  [
    'an unknown activation after the pooling',
    'distilbert',
    edit('3_Dense/config.json', each => ({ ...each, activation_function: 'torch.nn.modules.activation.Hardswish' })),
    'INF_ARCHITECTURE_UNSUPPORTED',
    /Hardswish/
  ],
  [
    'an activation after the pooling with the name of a property of all objects',
    'distilbert',
    edit('3_Dense/config.json', each => ({ ...each, activation_function: 'constructor' })),
    'INF_ARCHITECTURE_UNSUPPORTED',
    /activation_function "constructor"/
  ],
  ...[3, 512].map(
    buckets =>
      [
        `${buckets} buckets of relative positions`,
        'mpnet',
        edit('config.json', each => ({ ...each, relative_attention_num_buckets: buckets })),
        'INF_ARCHITECTURE_UNSUPPORTED',
        /relative_attention_num_buckets/
      ] as const
  ),
  [
    'a matrix that is too large',
    'distilbert',
    edit('2_Dense/config.json', each => ({ ...each, out_features: 2 ** 23 })),
    'INF_ARCHITECTURE_UNSUPPORTED',
    /out_features 8388608/
  ],
  [
    'a matrix that reads the tokens',
    'distilbert',
    edit('2_Dense/config.json', each => ({ ...each, module_input_name: 'token_embeddings' })),
    'INF_ARCHITECTURE_UNSUPPORTED',
    /token_embeddings/
  ],
  [
    'no weights of the matrix',
    'distilbert',
    remove('2_Dense/model.safetensors'),
    'INF_RUN_DIR_FILE_MISSING',
    /2_Dense.model\.safetensors/
  ],
  [
    'a matrix after the norm',
    'distilbert',
    edit('modules.json', list => void list.reverse().unshift(list.pop())),
    'INF_ARCHITECTURE_UNSUPPORTED',
    /Dense/
  ],
  [
    'a scaling of rotary positions',
    'nomic',
    edit('config.json', each => ({ ...each, rope_parameters: { rope_type: 'yarn', rope_theta: 1000 } })),
    'INF_ARCHITECTURE_UNSUPPORTED',
    /rope_parameters\.rope_type "yarn"/
  ],
  [
    'experts',
    'nomic',
    edit('config.json', each => ({ ...each, moe_every_n_layers: 2 })),
    'INF_ARCHITECTURE_UNSUPPORTED',
    /moe_every_n_layers/
  ],
  [
    'a reranker of a family without one',
    'nomic',
    edit('config.json', each => ({
      ...each,
      architectures: ['NomicBertForSequenceClassification'],
      id2label: { 0: 'a' }
    })),
    'INF_ARCHITECTURE_UNSUPPORTED',
    /NomicBertForSequenceClassification/
  ],
  [
    'fewer kinds of layers than layers',
    'modernbert',
    edit('config.json', each => void each.layer_types.pop()),
    'INF_RUN_DIR_MALFORMED',
    /layer_types/
  ],
  [
    'an unknown kind of layer',
    'modernbert',
    edit('config.json', each => void (each.layer_types[1] = 'linear_attention')),
    'INF_ARCHITECTURE_UNSUPPORTED',
    /layer_types\.1 "linear_attention"/
  ],
  [
    'NaN in its weights',
    'mpnet',
    poison('encoder.relative_attention_bias.weight', Number.NaN),
    'INF_RUN_DIR_TENSOR_INVALID',
    /relative_attention_bias\.weight contains NaN/
  ],
  ['a graph that is no ONNX', 'exported', put('model.onnx', 'not a graph'), 'INF_RUN_DIR_MALFORMED', /model\.onnx/]
] as const) {
  t.test(`refuses a folder with ${claim}`, async t => {
    await t.rejects(load(t, fixture, change), { code, message })
  })
}

t.test('truncated weights are refused', async t => {
  const cut = async (folder: string) => {
    const path = join(folder, 'model.safetensors')
    await writeFile(path, (await readFile(path)).subarray(0, -40))
  }
  await t.rejects(load(t, 'bert', cut), { code: 'INF_RUN_DIR_TRUNCATED' })
})

t.test('weights at odd offsets, and an exported graph next to unsupported weights, are used', async t => {
  const shift = async (folder: string) => {
    const path = join(folder, 'model.safetensors')
    const bytes = await readFile(path)
    const length = Number(bytes.readBigUInt64LE(0))
    const prefix = Buffer.alloc(BYTES)
    prefix.writeBigUInt64LE(BigInt(length + 1))
    await writeFile(
      path,
      Buffer.concat([prefix, bytes.subarray(BYTES, BYTES + length), Buffer.from(' '), bytes.subarray(BYTES + length)])
    )
  }
  const { vectors, texts } = JSON.parse(await readFile(join(fixtures, 'expected.json'), 'utf8')).bert
  const shifted = await load(t, 'bert', shift)
  const { values } = await shifted.embed([texts[0]])
  t.ok(values.every((value, at) => Math.abs(value - vectors[0][at]) < 1e-4))
  const both = await load(t, 'exported', async folder => {
    await cp(join(fixtures, 'bert/model.safetensors'), join(folder, 'model.safetensors'))
    await edit('config.json', each => ({ ...each, model_type: 'deberta-v2', max_position_embeddings: 64 }))(folder)
  })
  t.equal((await both.embed(['a'])).count, 1)
})

t.test('vectors that overflow are refused, not returned', async t => {
  const model = await load(t, 'static', async folder => {
    await poison('embeddings', 3e38)(folder)
    await edit('config.json', each => ({ ...each, normalize: false }))(folder)
    const weights = await readFile(join(folder, 'model.safetensors'))
    const length = Number(weights.readBigUInt64LE(0))
    for (let token = 0; token < 2; token++) weights.writeFloatLE(3e38, BYTES + length + token * 64)
    await writeFile(join(folder, 'model.safetensors'), weights)
  })
  t.equal((await model.embed([[0, 1]])).count, 1, 'the sum is computed in double precision')
  const encoder = await load(t, 'bert', async folder => {
    await poison('embeddings.LayerNorm.weight', 3e38)(folder)
    await poison('embeddings.LayerNorm.bias', 3e38)(folder)
  })
  await t.rejects(encoder.embed(['a quick brown fox']), { code: 'INF_NOT_FINITE' })
})

t.test('encoders with 8 or 4 bits give nearly the same vectors, of another digest, the same one by one', async t => {
  const references = JSON.parse(await readFile(join(fixtures, 'expected.json'), 'utf8'))
  for (const [name, bits, least] of [
    ['bert', 'q8', 0.995],
    ['modernbert', 'q8', 0.995],
    ['nomic', 'q4', 0.9]
  ] as const) {
    const { vectors, texts } = references[name]
    const plain = await embeddings.load({ directory: join(fixtures, name) })
    const model = await embeddings.load({ directory: join(fixtures, name), quantization: bits })
    t.not(model.info.digest, plain.info.digest, `${name}: digest`)
    t.equal(model.info.parameters, plain.info.parameters, `${name}: parameters`)
    const { values, dimensions } = await model.embed(texts)
    for (const [index, vector] of vectors.entries()) {
      const row = values.subarray(index * dimensions, (index + 1) * dimensions)
      const similarity = row.reduce((sum, value, at) => sum + value * vector[at], 0)
      t.ok(similarity > least && similarity < 0.9999999, `${name} with ${bits}: cosine ${similarity} of text ${index}`)
    }
    const single = await model.embed([texts[0]])
    t.same(single.values, values.slice(0, dimensions), `${name}: one text gives the vector of the batch`)
    await Promise.all([plain.close(), model.close()])
  }
  for (const directory of ['static', 'exported']) {
    const load = embeddings.load({ directory: join(fixtures, directory), quantization: 'q8' })
    await t.rejects(load, { code: 'INF_OPTION_INVALID', message: /cannot be quantised/ }, directory)
  }
})

t.test('a decoder with 8 bits gives nearly the same vectors, and no other pooling than its last token', async t => {
  const { vectors, texts } = JSON.parse(await readFile(join(fixtures, 'expected.json'), 'utf8')).qwen3
  const quantised = await openEmbeddings(t, 'q8')
  const model = await quantised.load({ directory: join(fixtures, 'qwen3') })
  const { values } = await model.embed([texts[0]])
  const similarity = values.reduce((sum, value, at) => sum + value * vectors[0][at], 0)
  t.ok(similarity > 0.99 && similarity < 0.9999999, `cosine ${similarity}`)
  const other = edit('1_Pooling/config.json', each => ({
    ...each,
    pooling_mode_lasttoken: false,
    pooling_mode_mean_tokens: true
  }))
  await t.rejects(load(t, 'qwen3', other), { code: 'INF_ARCHITECTURE_UNSUPPORTED', message: /pooling mean/ })
})

t.test('calls in progress are rejected when the model is closed or the caller leaves', async t => {
  for (const name of ['static', 'bert']) {
    const model = await load(t, name, async () => undefined)
    const texts = Array.from({ length: 200 }, (_, at) => `a quick fox ${at}`)
    const running = model.embed(texts)
    await model.close()
    await t.rejects(running, { code: 'INF_MODEL_CLOSED' }, name)
  }
  const model = await load(t, 'bert', async () => undefined)
  const controller = new AbortController()
  const reason = new Error('the caller left')
  const running = model.embed(
    Array.from({ length: 500 }, (_, at) => `a quick fox ${at}`),
    { signal: controller.signal }
  )
  setImmediate(() => controller.abort(reason))
  await t.rejects(running, reason)
  t.equal((await model.embed(['a'])).count, 1, 'later calls are computed')
})

t.test('the limit of a static model counts the tokens that it keeps', async t => {
  const model = await load(t, 'static', async () => undefined)
  const [short, long] = await Promise.all([
    model.embed(['a quick fox']),
    model.embed([`${'ъ '.repeat(1_000)}a quick fox`])
  ])
  t.same(long.values, short.values)
  t.equal(long.tokens, short.tokens)
  await t.rejects(model.embed(['a quick fox '.repeat(300)]), { code: 'INF_CONTEXT_EXCEEDED' })
})

t.test('other work runs while a static model computes a long text', async t => {
  const unlimited = edit('config.json', each => void delete each.max_length)
  const model = await load(t, 'static', unlimited)
  let turns = 0
  let isDone = false
  const count = (): void => {
    turns++
    if (!isDone) setImmediate(count)
  }
  setImmediate(count)
  await model.embed([Array(1_000_000).fill(2)])
  isDone = true
  t.ok(turns > 1, `${turns} turns of the event loop`)
})

t.test('a load that fails leaves no session open', async t => {
  const engine = await openEngine(t)
  const runtime = engine.openRuntime()
  let open = 0
  let created = 0
  const counting = {
    createSession: async (...options: Parameters<typeof runtime.createSession>) => {
      const session = await runtime.createSession(...options)
      const close = session.close.bind(session)
      open++
      created++
      session.close = async () => {
        open--
        await close()
      }
      return session
    }
  }
  const loader = new OnnxEmbeddings({
    cacheDirectory: join(await temporaryFolder(t), 'cache'),
    quantization: 'none',
    onUncached: reason => t.fail(reason.message),
    openRuntime: () => new Proxy(runtime, { get: (target, key) => member(counting, key) ?? member(target, key) }),
    threads: async () => 1
  })
  t.teardown(() => loader.close())
  for (const [name, change] of [
    ['qwen3', (each: any) => void (each.post_processor = { type: 'TemplateProcessing', single: [], pair: [] })],
    ['bert-reranker', (each: any) => void (each.post_processor.pair = [])]
  ] as const) {
    const folder = t.testdir()
    await cp(join(fixtures, name), folder, { recursive: true })
    await edit('tokenizer.json', change)(folder)
    await t.rejects(loader.load({ directory: folder }), { code: 'INF_TOKENIZER_UNSUPPORTED' }, name)
    t.equal(open, 0, name)
  }
  const model = await loader.load({ directory: join(fixtures, 'qwen3') })
  t.ok(created > 0, 'sessions are counted')
  await model.close()
  t.equal(open, 0)
})

t.test('models of the other kind refuse the call', async t => {
  const encoder = await load(t, 'bert', async () => undefined)
  await t.rejects(encoder.rank('a', ['b']), { code: 'INF_OPTION_INVALID', message: /no reranker/ })
  const reranker = await load(t, 'bert-reranker', async () => undefined)
  await t.rejects(reranker.embed(['a']), { code: 'INF_OPTION_INVALID', message: /no embedding/ })
  await t.rejects(reranker.rank('a', ['b '.repeat(100)]), { code: 'INF_CONTEXT_EXCEEDED' })
})
