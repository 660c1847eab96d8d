import { isSvcError } from '@svc/plugin-sdk'
import fc from 'fast-check'
import t from 'tap'
import { readMessagesRequest } from '#anthropic'
import { readGenerateRequest, readChatRequest as readOllamaChat } from '#ollama'
import { readChatRequest, readCompletionRequest } from '#openai'
import { readResponsesRequest } from '#responses'
import { Grammars } from '#root'
import { serve } from './serve.ts'

const grammars = new Grammars()
const FIELDS = [
  ...['model', 'messages', 'prompt', 'stream', 'stream_options', 'stop', 'seed', 'temperature', 'top_p', 'options'],
  ...['n', 'tools', 'logprobs', 'top_logprobs', 'logit_bias', 'max_tokens', 'format', 'system', 'raw', 'images'],
  ...['role', 'content', 'type', 'text', 'num_predict', 'num_ctx', 'top_k', 'repeat_penalty', '__proto__', 'think'],
  ...['tools', 'tool_choice', 'function', 'name', 'parameters', 'arguments', 'tool_calls', 'tool_call_id', 'id'],
  ...['response_format', 'json_schema', 'schema', 'grammar', 'context', 'suffix', 'template', 'keep_alive', 'echo'],
  ...['input', 'instructions', 'reasoning', 'effort', 'summary', 'include', 'store', 'metadata', 'truncation'],
  ...['thinking', 'tool_use', 'tool_result', 'tool_use_id', 'input_schema', 'output_config', 'stop_sequences']
]
const { json } = fc.letrec(tie => ({
  json: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    fc.constantFrom(null, true, false, '', 'user', 'assistant', 'text', 'toy', 'hi'),
    fc.integer(),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.string({ unit: 'binary' }),
    fc.array(tie('json'), { maxLength: 4 }),
    fc.dictionary(fc.oneof({ weight: 9, arbitrary: fc.constantFrom(...FIELDS) }, fc.string()), tie('json'), {
      maxKeys: 6
    })
  )
}))
const message = fc.record({ role: fc.constantFrom('user', 'assistant', 'system', 'x'), content: json })
const body = fc.oneof(
  json,
  fc.record(
    { messages: fc.array(message), prompt: json, options: json, stop: json, stream: json },
    { requiredKeys: [] }
  )
)

t.test('for any body, parsers return a request or throw an error with a status below 500', async t => {
  for (const read of [
    readChatRequest,
    readCompletionRequest,
    readResponsesRequest,
    readMessagesRequest,
    readOllamaChat,
    readGenerateRequest
  ]) {
    fc.assert(
      fc.property(body, value => {
        try {
          return typeof read(JSON.parse(JSON.stringify(value)), grammars).stream === 'boolean'
        } catch (error) {
          return isSvcError(error) && error.status < 500 && error.message.length > 10
        }
      }),
      { numRuns: 700 }
    )
  }
  t.pass()
})

t.test('no JSON body makes a route return 500', async t => {
  const { post, errors } = await serve(t, { maxTokens: 4 })
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom('/v1/chat/completions', '/v1/completions', '/api/chat', '/api/generate'),
      body,
      async (path, value) => {
        const reply = await post(path, JSON.stringify(value))
        await reply.text()
        return reply.status < 500
      }
    ),
    { numRuns: 150 }
  )
  t.same(errors, [])
})

t.test('no bytes make a route return 500', async t => {
  const { post, errors } = await serve(t)
  await fc.assert(
    fc.asyncProperty(fc.uint8Array({ maxLength: 200 }), async bytes => {
      const reply = await post('/api/chat', bytes)
      return (await reply.text()) !== '' && reply.status === 400
    }),
    { numRuns: 100 }
  )
  t.same(errors, [])
})
