import type { HostedName, ProviderName } from '../provider-list.ts'
import type { ModelEntry } from '../registry/entry.ts'
import type { CategoryName } from './categories.ts'
import type { Needs } from './needs.ts'
import type { ScoreContext, Standing } from './score.ts'

export type GeminiPolicy = 'openrouter_first' | 'google_direct_only' | 'registry_default'

/** Everything that a choice depends on. */
export interface ChoiceInput {
  readonly models: readonly ModelEntry[]
  /** Models that pin a category, by its name. */
  readonly premium: Readonly<Record<string, string>>
  /** Model that the request names; null if it names none. */
  readonly requested: string | null
  /** Model that a person selected; null if none. */
  readonly selected: string | null
  /** Model of the session's last request; null if there is none. */
  readonly previous: string | null
  readonly needs: Needs
  readonly category: CategoryName
  readonly isLatencyCritical: boolean
  /** Whether the session has spent its budget. */
  readonly freeOnly: boolean
  readonly local: LocalStanding
  readonly hasKey: (provider: HostedName) => boolean
  readonly isAllowed: (provider: ProviderName) => boolean
  readonly standingOf: (entry: ModelEntry) => Standing
  readonly score: Omit<ScoreContext, 'strength'>
  /** Model of the strategy `preferred_model`, null if that names none; undefined for `provider_auto`. */
  readonly preferred: string | null | undefined
  readonly gemini: { readonly policy: GeminiPolicy; readonly openrouter: string; readonly google: string }
}

export interface LocalStanding {
  /** Whether the profile includes local servers. */
  readonly isAllowed: boolean
  /** Whether the server answers, and offers its default model. */
  readonly isReady: boolean
  /** Default model of the server. */
  readonly model: string
  /** Models that the server offers; empty if it is not reachable. */
  readonly offered: readonly string[]
}
