import { bareWord, wordsOf } from './words.ts'

export type PlanningMode = 'auto' | 'direct' | 'force_plan' | 'workflow_only'

/** One task immediately, a plan of sequential steps, or a separate workflow. */
export type Strategy = 'ImmediateAct' | 'SequentialDag' | 'WorkflowHandoff'

export type Intent = 'CodeNavigation' | 'RepoStructure' | 'BroadResearch' | 'FactualLookup'

export interface RouterDecision {
  readonly strategy: Strategy
  /** 2 to 9. */
  readonly complexity: number
  /** [0, 1]. */
  readonly confidence: number
  /** One sentence. */
  readonly rationale: string
}

const NAVIGATION_WORDS = new Set('file path module symbol crate function struct enum trait defined'.split(' '))
const NAVIGATION_SIGNS = ['.rs', '.vox', 'src/', 'crates/', '::']
const STRUCTURE_WORDS = new Set('architecture repository repo overview structure where how'.split(' '))
/** Number of words above which a goal counts as broad research. */
const NARROW_WORDS = 8
const BROAD_COMPLEXITY = 6
const WORKFLOW_COMPLEXITY = 6
const IMMEDIATE_COMPLEXITY = 3

/** Classifies a goal by its words. */
export function intentOf(goal: string): Intent {
  const words = wordsOf(goal)
  const bare = words.map(bareWord)
  const text = goal.toLowerCase()
  if (bare.some(word => NAVIGATION_WORDS.has(word)) || NAVIGATION_SIGNS.some(sign => text.includes(sign)))
    return 'CodeNavigation'
  if (bare.some(word => STRUCTURE_WORDS.has(word))) return 'RepoStructure'
  return words.length > NARROW_WORDS ? 'BroadResearch' : 'FactualLookup'
}

/** Returns 2, 5, 7 or 9 for up to 6, 16, 30 or more words; at least 6 for broad research and repository structure. */
export function complexityOf(goal: string, intent: Intent = intentOf(goal)): number {
  const count = wordsOf(goal).length
  const byWords = count <= 6 ? 2 : count <= 16 ? 5 : count <= 30 ? 7 : 9
  return intent === 'BroadResearch' || intent === 'RepoStructure' ? Math.max(byWords, BROAD_COMPLEXITY) : byWords
}

const FORCED: Readonly<Record<Exclude<PlanningMode, 'auto'>, Strategy>> = {
  direct: 'ImmediateAct',
  force_plan: 'SequentialDag',
  workflow_only: 'WorkflowHandoff'
}

/** Chooses the strategy of a goal, by the first matching rule. */
export function routeGoal(
  goal: string,
  { mode, planningEnabled }: { readonly mode: PlanningMode; readonly planningEnabled: boolean }
): RouterDecision {
  const intent = intentOf(goal)
  const complexity = complexityOf(goal, intent)
  if (mode !== 'auto')
    return { strategy: FORCED[mode], complexity, confidence: 0.99, rationale: `the caller requested ${mode}` }
  if (!planningEnabled)
    return { strategy: 'ImmediateAct', complexity, confidence: 0.95, rationale: 'planning is disabled' }
  if (complexity >= WORKFLOW_COMPLEXITY && /workflow|pipeline/i.test(goal))
    return {
      strategy: 'WorkflowHandoff',
      complexity,
      confidence: 0.75,
      rationale: `the goal mentions a workflow or pipeline, complexity ${complexity}`
    }
  if (complexity <= IMMEDIATE_COMPLEXITY)
    return { strategy: 'ImmediateAct', complexity, confidence: 0.8, rationale: `small goal, complexity ${complexity}` }
  return { strategy: 'SequentialDag', complexity, confidence: 0.7, rationale: `${intent}, complexity ${complexity}` }
}
