import assert from 'node:assert/strict'
import { createAnthropic } from '@ai-sdk/anthropic'
import { createOpenAI } from '@ai-sdk/openai'
import { embed, generateText, jsonSchema, Output, streamText, tool } from 'ai'
import {
  ANSWER,
  CITY_SCHEMA,
  EMBEDDER,
  isCity,
  isVector,
  MODEL,
  QUESTION,
  run,
  TOOL_MODEL,
  URL_OF_SERVER
} from './checks.mjs'

const anthropic = createAnthropic({ baseURL: `${URL_OF_SERVER}/v1`, apiKey: 'none' })
const openai = createOpenAI({ baseURL: `${URL_OF_SERVER}/v1`, apiKey: 'none' })
/** Models by API: of Anthropic, and of OpenAI with and without the Responses API. */
const APIS = { anthropic, responses: openai, chat: openai.chat }
const request = { prompt: QUESTION, maxRetries: 0, maxOutputTokens: 300 }
const tools = {
  weather: tool({ description: 'Shows the weather', inputSchema: jsonSchema(CITY_SCHEMA), execute: async () => 'rain' })
}

await run('ai', ['ai', '@ai-sdk/anthropic', '@ai-sdk/openai'], {
  async chat() {
    for (const api of Object.values(APIS)) {
      const { text, finishReason, usage } = await generateText({ ...request, model: api(MODEL) })
      assert.match(text, ANSWER)
      assert.equal(finishReason, 'stop')
      assert.ok(usage.outputTokens > 0)
    }
  },
  async stream() {
    for (const api of Object.values(APIS)) {
      let text = ''
      for await (const piece of streamText({ ...request, model: api(MODEL) }).textStream) text += piece
      assert.match(text, ANSWER)
    }
  },
  async tools() {
    for (const api of Object.values(APIS)) {
      const chosen = { ...request, model: api(TOOL_MODEL), tools, toolChoice: 'required' }
      const { toolCalls, toolResults } = await generateText(chosen)
      assert.equal(toolCalls.length, 1)
      isCity(toolCalls[0].input)
      assert.equal(toolResults[0].output, 'rain')
    }
  },
  async json_schema() {
    for (const api of [APIS.responses, APIS.chat]) {
      const output = Output.object({ schema: jsonSchema(CITY_SCHEMA) })
      isCity((await generateText({ ...request, model: api(MODEL), output })).output)
    }
  },
  async embeddings() {
    isVector((await embed({ model: openai.textEmbeddingModel(EMBEDDER), value: 'one' })).embedding)
  },
  async errors() {
    for (const api of Object.values(APIS))
      await assert.rejects(generateText({ ...request, model: api('none') }), /none' not found/)
  }
})
