import type { SchemaPlan, SchemaStep, StepLevel } from './plan.ts'

const MARKS: Readonly<Record<StepLevel, string>> = { safe: '+', lossy: '-', refused: '!', kept: '=' }
const WORDS: Readonly<Record<StepLevel, string>> = {
  safe: '',
  lossy: ' [loses data]',
  refused: ' [not possible]',
  kept: ''
}

/** Formats a plan, one line per difference: `+` without loss, `-` with loss, `!` impossible, `=` unchanged. */
export function planText({ steps }: Pick<SchemaPlan, 'steps'>): string {
  return steps.map(stepText).join('\n')
}

function stepText({ level, table, column, says, wayOut }: SchemaStep): string {
  const name = column === null ? table : `${table}.${column}`
  const head = `  ${MARKS[level]} ${name}${name === '' ? '' : ' '}${says}${WORDS[level]}`
  return wayOut === null ? head : `${head}\n      ${wayOut}`
}
