import assert from 'node:assert/strict'
import { ChatAnthropic } from '@langchain/anthropic'
import { HumanMessage, ToolMessage } from '@langchain/core/messages'
import { tool } from '@langchain/core/tools'
import { ChatOllama, OllamaEmbeddings } from '@langchain/ollama'
import { ChatOpenAI, OpenAIEmbeddings } from '@langchain/openai'
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

const openAi = { apiKey: 'none', maxRetries: 0, configuration: { baseURL: `${URL_OF_SERVER}/v1` } }
const CHATS = {
  openai: model => new ChatOpenAI({ model, ...openAi }),
  responses: model => new ChatOpenAI({ model, ...openAi, useResponsesApi: true }),
  anthropic: model =>
    new ChatAnthropic({ model, apiKey: 'none', anthropicApiUrl: URL_OF_SERVER, maxRetries: 0, maxTokens: 300 }),
  ollama: model => new ChatOllama({ model, baseUrl: URL_OF_SERVER, maxRetries: 0 })
}
const weather = tool(({ city }) => `rain in ${city}`, {
  name: 'weather',
  description: 'Shows the weather',
  schema: CITY_SCHEMA
})
const FORCED = ['openai', 'responses', 'anthropic']

await run('langchain (npm)', ['@langchain/openai', '@langchain/anthropic', '@langchain/ollama'], {
  async chat() {
    for (const [name, chat] of Object.entries(CHATS)) {
      const answer = await chat(MODEL).invoke(QUESTION)
      assert.match(answer.text, ANSWER)
      assert.ok(answer.usage_metadata.output_tokens > 0, name)
    }
  },
  async stream() {
    for (const chat of Object.values(CHATS)) {
      let text = ''
      for await (const piece of await chat(MODEL).stream(QUESTION)) text += piece.text
      assert.match(text, ANSWER)
    }
  },
  async tools() {
    for (const name of FORCED) {
      const answer = await CHATS[name](TOOL_MODEL).bindTools([weather], { tool_choice: 'weather' }).invoke(QUESTION)
      assert.equal(answer.tool_calls.length, 1)
      isCity(answer.tool_calls[0].args)
      const result = new ToolMessage({ content: 'rain', tool_call_id: answer.tool_calls[0].id })
      await CHATS[name](TOOL_MODEL)
        .bindTools([weather])
        .invoke([new HumanMessage(QUESTION), answer, result])
    }
  },
  async json_schema() {
    for (const name of ['openai', 'responses', 'ollama']) {
      isCity(
        await CHATS[name](MODEL)
          .withStructuredOutput(CITY_SCHEMA, { name: 'place', method: 'jsonSchema' })
          .invoke(QUESTION)
      )
    }
  },
  async embeddings() {
    isVector(await new OpenAIEmbeddings({ model: EMBEDDER, ...openAi }).embedQuery('one'))
    isVector(await new OllamaEmbeddings({ model: EMBEDDER, baseUrl: URL_OF_SERVER }).embedQuery('one'))
  },
  async errors() {
    for (const chat of Object.values(CHATS)) await assert.rejects(chat('none').invoke(QUESTION), /none' not found/)
  }
})
