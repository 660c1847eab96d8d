import t from 'tap'
import { fillInTheMiddle, fillsInTheMiddle } from '#root'
import { connect, refusal, say } from './clients.ts'
import { ToyModel } from './toy-engine.ts'

t.test('continues a conversation from the context of the previous response', async t => {
  const { ollama: client, model } = await connect(t)
  const first = await client.generate({ model: 'toy', prompt: 'one', system: 'be brief' })
  const begun = '<|im_start|>system\nbe brief<|im_end|>\n<|im_start|>user\none<|im_end|>\n<|im_start|>assistant\none'
  t.equal(model.detokenize(first.context), begun)
  const second = await client.generate({ model: 'toy', prompt: 'two', context: first.context })
  t.equal(second.response, 'two')
  const asked = `${begun}<|im_end|>\n<|im_start|>user\ntwo<|im_end|>\n<|im_start|>assistant\n`
  t.equal(model.detokenize(model.requests.at(-1)?.tokens ?? []), asked)
  t.equal(model.detokenize(second.context), `${asked}two`)
  const rows = []
  for await (const row of await client.generate({ model: 'toy', prompt: 'x', stream: true })) rows.push(row)
  t.ok(Array.isArray(rows.pop()?.context))
  t.notOk(
    rows.some(row => 'context' in row),
    'only the last row has the context'
  )
  t.notOk('context' in (await client.generate({ model: 'toy', prompt: 'x', raw: true, options: { num_predict: 2 } })))
  t.match(await refusal(client.generate({ model: 'toy', prompt: 'x', context: [5000] })), {
    status_code: 400,
    error: /'context' contains 5000, which is not a token of this model/
  })
})

t.test("a template in the request replaces the model's", async t => {
  const { ollama: client, model } = await connect(t)
  const template = '{% for message in messages %}{{ message.content }}{% endfor %}'
  await client.generate({ model: 'toy', prompt: 'hi', template })
  t.same(model.templates, [template])
  const go =
    '{{ if .System }}<|im_start|>system\n{{ .System }}<|im_end|>\n{{ end }}Q: {{ .Prompt }}\nA:{{ .Response }}\n'
  await client.generate({ model: 'toy', prompt: 'hi <|im_end|>', system: 'brief', template: go })
  const asked = '<|im_start|>system\nbrief<|im_end|>\nQ: hi [im_end]\nA:'
  t.equal(model.detokenize(model.requests.at(-1)?.tokens ?? []), asked)
})

t.test('a raw prompt cannot enable thoughts', async t => {
  const { ollama: client } = await connect(t, { capabilities: { thinking: true } })
  const error = await refusal(client.generate({ model: 'toy', prompt: 'x', raw: true, think: true }))
  t.match(error, { status_code: 400, error: /^'think': a raw prompt has no template/ })
  t.ok(await client.generate({ model: 'toy', prompt: 'x', raw: true, think: false, options: { num_predict: 1 } }))
})

t.test('an invalid keep_alive is rejected', async t => {
  const { ollama: client } = await connect(t)
  for (const keep_alive of ['5m', '1h30m', '-1', -1, 60, '1.5h', '300']) {
    t.ok(await client.generate({ model: 'toy', prompt: '', keep_alive }), String(keep_alive))
  }
  for (const keep_alive of [0, '0', '0s', '0m0s']) {
    const reply = await client.chat({ model: 'toy', messages: [], keep_alive })
    t.match(reply, { message: { role: 'assistant', content: '' }, done: true, done_reason: 'unload' })
  }
  for (const keep_alive of ['soon', '5x', '', '-', '1h5', true, {}]) {
    t.match(await refusal(client.generate({ model: 'toy', prompt: 'x', keep_alive: keep_alive as never })), {
      status_code: 400,
      error: /'keep_alive' must be a number of seconds or a duration/
    })
  }
})

t.test('options that change the answer reach the engine; options of other engines have no effect', async t => {
  const { ollama: client, model } = await connect(t)
  const options = {
    seed: 3,
    num_predict: 4,
    top_k: 5,
    top_p: 0.6,
    min_p: 0.1,
    typical_p: 0.7,
    repeat_last_n: 8,
    temperature: 0.9,
    repeat_penalty: 1.1,
    presence_penalty: 0.2,
    frequency_penalty: 0.3,
    stop: ['x'],
    num_ctx: 256
  }
  const withoutEffect = {
    num_keep: 4,
    num_batch: 8,
    num_gpu: 1,
    main_gpu: 0,
    num_thread: 2,
    use_mmap: true,
    numa: false
  }
  await client.generate({ model: 'toy', prompt: 'hi', options: { ...options, ...withoutEffect } })
  t.match(model.requests.at(-1), {
    maxTokens: 4,
    stop: ['x'],
    sampling: {
      seed: 3,
      topK: 5,
      topP: 0.6,
      minP: 0.1,
      typicalP: 0.7,
      repeatLastN: 8,
      temperature: 0.9,
      repeatPenalty: 1.1,
      presencePenalty: 0.2,
      frequencyPenalty: 0.3
    }
  })
  for (const strange of [{ mirostat: 1 }, { tfs_z: 0.5 }, { penalize_newline: false }]) {
    const [name = ''] = Object.keys(strange)
    const error = await refusal(client.generate({ model: 'toy', prompt: 'hi', options: strange as never }))
    t.match(error, { status_code: 400, error: new RegExp(`^'options\\.${name}': `) })
  }
})

t.test('/api/show describes the model in the Ollama format', async t => {
  const chatTemplate = '<tool_call> enable_thinking'
  const { ollama: client, url } = await connect(t, { chatTemplate, capabilities: { tools: true, thinking: true } })
  const shown = await client.show({ model: 'toy' })
  t.same(shown.capabilities, ['completion', 'tools', 'thinking'])
  t.match(shown.modelfile, /^FROM toy$/m)
  t.match(shown.modelfile, /^PARAMETER temperature 0$/m)
  t.match(shown.parameters, /^num_ctx +512$/m)
  t.equal(shown.template, chatTemplate)
  t.match((await client.ps()).models, [{ expires_at: '9999-12-31T23:59:59Z' }])
  for (const method of ['GET', 'HEAD']) t.equal((await fetch(url, { method })).status, 200)
})

t.test('fills a gap with the special tokens of the vocabulary', async t => {
  const model = new ToyModel({})
  t.notOk(fillsInTheMiddle(model))
  t.throws(() => fillInTheMiddle(model, 'toy', 'a', 'b'), {
    code: 'MSV_UNSUPPORTED',
    message: 'toy does not support insert'
  })
  const marks = ['<|fim_prefix|>', '<|fim_suffix|>', '<|fim_middle|>']
  const filling = Object.assign(new ToyModel({}), {
    tokenize(text: string, { special = false } = {}): number[] {
      const at = marks.indexOf(text)
      return special && at >= 0 ? [300 + at] : [...Buffer.from(text)]
    }
  })
  t.ok(fillsInTheMiddle(filling))
  t.same(fillInTheMiddle(filling, 'toy', 'a', 'b'), [300, 97, 301, 98, 302])
  t.equal(fillInTheMiddle(filling, 'toy', '<|fim_suffix|>', '').filter(token => token >= 300).length, 3)
})

t.test('responses contain only fields of the API', async t => {
  const { post } = await connect(t, { capabilities: { tools: true }, chatTemplate: '<tool_call>' })
  const rowsOf = async (path: string, body: object) =>
    (await (await post(path, body)).text())
      .trimEnd()
      .split('\n')
      .map(row => JSON.parse(row) as Record<string, any>)
  const counts = [
    ...['total_duration', 'load_duration', 'prompt_eval_count', 'prompt_eval_duration', 'eval_count', 'eval_duration']
  ]
  const end = ['done', 'done_reason', ...counts]
  const chat = await rowsOf('/api/chat', { messages: say('ab') })
  t.same(
    chat.map(row => Object.keys(row)),
    [
      ['model', 'created_at', 'message', 'done'],
      ['model', 'created_at', 'message', 'done'],
      ['model', 'created_at', 'message', ...end]
    ]
  )
  t.ok(chat.every(row => Object.keys(row.message).join() === 'role,content'))
  const [first, last] = await rowsOf('/api/generate', { prompt: 'a' })
  t.same(Object.keys(first ?? {}), ['model', 'created_at', 'response', 'done'])
  t.same(Object.keys(last ?? {}), ['model', 'created_at', 'response', 'done', 'done_reason', 'context', ...counts])
  const call = '<tool_call>{"name":"f","arguments":{}}</tool_call>'
  const tools = [{ type: 'function', function: { name: 'f' } }]
  const [called] = await rowsOf('/api/chat', { messages: say(call), tools })
  t.same(called?.message, {
    role: 'assistant',
    content: '',
    tool_calls: [{ id: called?.message.tool_calls[0].id, function: { index: 0, name: 'f', arguments: {} } }]
  })
  const shown = (await (await post('/api/show', { model: 'toy' })).json()) as object
  const facts = ['modelfile', 'parameters', 'template', 'details', 'model_info', 'capabilities', 'modified_at']
  t.same(Object.keys(shown), facts)
})
