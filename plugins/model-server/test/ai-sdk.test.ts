import { createOpenAI } from '@ai-sdk/openai'
import { generateObject, generateText, jsonSchema, stepCountIs, streamText, tool } from 'ai'
import t, { type Test } from 'tap'
import { serve } from './serve.ts'

const CALL = 'Well.\n<tool_call>\n{"name": "weather", "arguments": {"city": "Bonn"}}\n</tool_call>'
const CITY = jsonSchema<{ city: string }>({
  type: 'object',
  properties: { city: { type: 'string' } },
  required: ['city'],
  additionalProperties: false
})
const weather = tool({
  description: 'Shows the weather',
  inputSchema: CITY,
  execute: async ({ city }: { city: string }) => `rain in ${city}`
})

/** Serves the toy model, and returns it as a model of the AI SDK, which uses the Responses API. */
async function connect(t: Test) {
  const options = {
    chatTemplate: '… <tool_call> …',
    capabilities: { tools: true },
    maxTokens: 300,
    contextLength: 2048
  }
  const { url, model } = await serve(t, options)
  return { toy: createOpenAI({ baseURL: `${url}/v1`, apiKey: 'none' })('toy'), model }
}

t.test('the AI SDK generates and streams text', async t => {
  const { toy } = await connect(t)
  t.match(await generateText({ model: toy, prompt: 'hello there' }), {
    text: 'hello there',
    finishReason: 'stop',
    usage: { outputTokens: 12 }
  })
  const stream = streamText({ model: toy, prompt: 'streamed' })
  let text = ''
  for await (const piece of stream.textStream) text += piece
  t.equal(text, 'streamed')
  t.equal(await stream.finishReason, 'stop')
})

t.test('the AI SDK runs tools, and continues with references to stored items', async t => {
  const { toy, model } = await connect(t)
  const request = { model: toy, prompt: CALL, tools: { weather }, stopWhen: stepCountIs(2) }
  const { steps } = await generateText(request)
  t.equal(steps.length, 2)
  t.match(steps[0]?.toolResults, [{ toolName: 'weather', input: { city: 'Bonn' }, output: 'rain in Bonn' }])
  t.match(model.rendered.at(-1)?.messages, [
    { role: 'user', content: CALL },
    { role: 'assistant', content: 'Well.', toolCalls: [{ name: 'weather', arguments: { city: 'Bonn' } }] },
    { role: 'tool', content: 'rain in Bonn', name: 'weather' }
  ])
  const kinds = new Set<string>()
  for await (const part of streamText(request).fullStream) kinds.add(part.type)
  for (const kind of ['text-delta', 'tool-input-delta', 'tool-call', 'tool-result', 'finish'])
    t.ok(kinds.has(kind), kind)
  t.notOk(kinds.has('error'))
})

t.test('the AI SDK generates objects that follow a schema', async t => {
  const { toy } = await connect(t)
  t.same((await generateObject({ model: toy, prompt: 'x', schema: CITY })).object, { city: 'text' })
})
