import type { ModelFacts } from './facts/facts.ts'
import type { ModelServer } from './model-server.ts'

type Row = Readonly<Record<string, unknown>>

/** Returns the models of all servers, each once: from the first server that has it, loaded ones preferred. */
function modelsOf(servers: Iterable<ModelServer>): readonly ModelFacts[] {
  const found = new Map<string, ModelFacts>()
  for (const server of servers) {
    for (const [name, model] of server.facts?.models ?? []) {
      const known = found.get(name)
      if (known === undefined || (!known.loaded && model.loaded)) found.set(name, model)
    }
  }
  return [...found.values()]
}

/** Returns the response of `GET /v1/models`. */
export function openAiList(servers: Iterable<ModelServer>): { readonly object: 'list'; readonly data: readonly Row[] } {
  return { object: 'list', data: modelsOf(servers).map(openAiEntry) }
}

/** Returns the entry of `GET /v1/models/:id`; undefined for an unknown plain name. */
export function openAiModel(servers: Iterable<ModelServer>, name: string): Row | undefined {
  for (const server of servers) {
    const model = server.model(name)
    if (model !== null) return openAiEntry(model)
  }
  return undefined
}

function openAiEntry({ name, created, parent, contextLength }: ModelFacts): Row {
  return {
    id: name,
    object: 'model',
    created,
    owned_by: 'svc',
    ...(contextLength === null ? {} : { max_model_len: contextLength }),
    ...(parent === null ? {} : { parent })
  }
}

/** Returns the response of `GET /api/tags`: models of the servers with Ollama's routes. */
export function tagList(servers: Iterable<ModelServer>): { readonly models: readonly Row[] } {
  return { models: modelsOf(servers).flatMap(({ tag }) => (tag === null ? [] : [tag])) }
}

/** Returns the response of `GET /api/ps`: loaded models of the servers with Ollama's routes. */
export function runningList(servers: Iterable<ModelServer>): { readonly models: readonly Row[] } {
  return { models: modelsOf(servers).flatMap(({ running }) => (running === null ? [] : [running])) }
}
