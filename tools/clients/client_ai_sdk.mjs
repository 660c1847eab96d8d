import assert from 'node:assert/strict'
import { createAnthropic } from '@ai-sdk/anthropic'
import { generateText, jsonSchema, streamText, tool } from 'ai'
import { ANSWER, CITY_SCHEMA, isCity, MODEL, QUESTION, run, TOOL_MODEL, URL_OF_SERVER } from './checks.mjs'

const anthropic = createAnthropic({ baseURL: `${URL_OF_SERVER}/v1`, apiKey: 'none' })
const request = { model: anthropic(MODEL), prompt: QUESTION, maxRetries: 0, maxOutputTokens: 300 }
const tools = {
  weather: tool({ description: 'Shows the weather', inputSchema: jsonSchema(CITY_SCHEMA), execute: async () => 'rain' })
}

await run('ai', ['ai', '@ai-sdk/anthropic'], {
  async chat() {
    const { text, finishReason, usage } = await generateText(request)
    assert.match(text, ANSWER)
    assert.equal(finishReason, 'stop')
    assert.ok(usage.outputTokens > 0)
  },
  async stream() {
    let text = ''
    for await (const piece of streamText(request).textStream) text += piece
    assert.match(text, ANSWER)
  },
  async tools() {
    const { toolCalls, toolResults } = await generateText({
      ...request,
      model: anthropic(TOOL_MODEL),
      tools,
      toolChoice: 'required'
    })
    assert.equal(toolCalls.length, 1)
    isCity(toolCalls[0].input)
    assert.equal(toolResults[0].output, 'rain')
  },
  async errors() {
    await assert.rejects(generateText({ ...request, model: anthropic('none') }), /none' not found/)
  }
})
