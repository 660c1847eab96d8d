import type { Tier } from '../registry/entry.ts'

export interface TaskCategory {
  readonly strength: string
  readonly tier: Tier
  /** Thousands of tokens. */
  readonly minContext: number
}

/** Requirements of the categories of tasks. */
export const CATEGORIES = {
  codegen: { strength: 'codegen', tier: 'elite', minContext: 100 },
  testing: { strength: 'codegen', tier: 'pro', minContext: 32 },
  debugging: { strength: 'debugging', tier: 'elite', minContext: 100 },
  type_checking: { strength: 'logic', tier: 'pro', minContext: 32 },
  research: { strength: 'research', tier: 'pro', minContext: 128 },
  parsing: { strength: 'parsing', tier: 'light', minContext: 8 },
  review: { strength: 'review', tier: 'pro', minContext: 100 },
  general: { strength: 'logic', tier: 'pro', minContext: 32 },
  planning: { strength: 'planning', tier: 'pro', minContext: 32 },
  inter_agent: { strength: 'inter_agent', tier: 'light', minContext: 8 },
  tool_orchestration: { strength: 'logic', tier: 'pro', minContext: 32 },
  vision: { strength: 'visus', tier: 'pro', minContext: 32 }
} as const satisfies Readonly<Record<string, TaskCategory>>

export type CategoryName = keyof typeof CATEGORIES

export const CATEGORY_NAMES = Object.keys(CATEGORIES) as CategoryName[]

/** Returns the category of a name in any notation, such as `CodeGen` or `inter-agent`; `general` for an unknown one. */
export function categoryOf(name: string | undefined): CategoryName {
  const plain = (text: string): string => text.toLowerCase().replaceAll(/[^a-z]/g, '')
  return CATEGORY_NAMES.find(each => plain(each) === plain(name ?? '')) ?? 'general'
}
