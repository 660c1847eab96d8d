import { createHash } from 'node:crypto'
import { CODE_RULES } from './code-rules.ts'
import type { Rule } from './rule.ts'
import { TEXT_RULES } from './text-engine.ts'

/** All rules by id, ascending. */
export const RULES: readonly Rule[] = [
  ...new Map([...TEXT_RULES, ...Object.values<Rule>(CODE_RULES)].map(rule => [rule.id, rule])).values()
].sort((one, other) => (one.id < other.id ? -1 : 1))

/** Group of a rule: the first part of its id. */
export function familyOf(ruleId: string): string {
  return ruleId.split('/', 1)[0] as string
}

/** True if the text is the id of a rule or of a group of rules. */
export function isRule(id: string): boolean {
  return RULES.some(rule => rule.id === id || rule.id.startsWith(`${id}/`))
}

/** Returns ids with the ids of the rules that belong to them. */
export function withChildren(ids: readonly string[]): readonly string[] {
  const children = TEXT_RULES.filter(rule => rule.parentId !== undefined && ids.some(id => id === rule.parentId))
  return [...ids, ...children.map(({ id }) => id)]
}

/** Changes of the engine that no rule shows; raised by hand, so that results of earlier versions are not used. */
const ENGINE_VERSION = 3

/** Version of the rules and the engine, for results that are kept. */
export function rulesVersion(): string {
  const rules = TEXT_RULES.map(rule => [rule.id, String(rule.pattern), String(rule.skip), rule.severity, rule.message])
  return createHash('sha256')
    .update(JSON.stringify([ENGINE_VERSION, rules, CODE_RULES]))
    .digest('hex')
    .slice(0, 16)
}
