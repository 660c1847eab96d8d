import type { OrchestratorPolicy, TaskView } from '@svc/contracts'
import type { Settings } from '../settings.ts'

type Prices = Settings['prices']

export interface ChoiceParts {
  readonly settings: Pick<Settings, 'model' | 'research_model' | 'prices'>
  readonly policy: Pick<OrchestratorPolicy, 'research_model_enabled' | 'cost_preference'>
  /** Names of the models that the server offers. */
  readonly offered: readonly string[]
  /** Default model of the client. */
  readonly defaultModel: string
}

/**
 * Chooses the model of a task: its own, then the research model, then with cost preference `economy` the cheapest, then
 * the model of the settings, then the client's default.
 */
export function chooseModel(task: TaskView, { settings, policy, offered, defaultModel }: ChoiceParts): string {
  const own = task.model_override ?? task.model_preference
  if (own !== undefined) return own
  const isResearch = task.category === 'Research' || task.role === 'researcher'
  if (isResearch && policy.research_model_enabled && settings.research_model !== undefined)
    return settings.research_model
  const cheapest = policy.cost_preference === 'economy' ? findCheapest(settings.prices, offered) : undefined
  return cheapest ?? settings.model ?? defaultModel
}

function findCheapest(prices: Prices, offered: readonly string[]): string | undefined {
  const known = prices.filter(({ model }) => offered.includes(model))
  const total = ({ input_usd, output_usd }: Prices[number]) => input_usd + output_usd
  return known.sort((a, b) => total(a) - total(b))[0]?.model
}

/** Returns the cost of a call in US dollars; 0 for a model without a price. */
export function priceOf(prices: Prices, model: string, inputTokens: number, outputTokens: number): number {
  const price = prices.find(each => each.model === model)
  return price === undefined ? 0 : (inputTokens * price.input_usd + outputTokens * price.output_usd) / 1e6
}
