import { readFileSync } from 'node:fs'
import type { Collection } from './collection.ts'

export interface Judgement {
  readonly file: string
  /** Beginning of a heading; null for the whole file. */
  readonly section: string | null
  /** 3 answers the question, 2 answers a part of it, 1 helps to find the answer. */
  readonly grade: number
}

export interface JudgedQuestion {
  readonly question: string
  readonly judgements: readonly Judgement[]
}

/** Reads the questions. Throws, with the line, if one has no answer, or if a file or section is not in the collection. */
export function readQuestions(collection: Collection): readonly JudgedQuestion[] {
  const text = readFileSync(new URL('questions.txt', import.meta.url), 'utf8')
  const questions = text.split('\n').flatMap((line, index): readonly JudgedQuestion[] => {
    if (line === '' || line.startsWith('#')) return []
    const [question = '', answers = ''] = line.split(' | ')
    const judgements = answers.split(' ; ').map(answer => judgement(answer, collection, index + 1))
    if (!judgements.some(({ grade }) => grade === 3)) throw new Error(`line ${index + 1}: no answer has the grade 3`)
    return [{ question, judgements }]
  })
  const seen = new Set<string>()
  for (const { question } of questions) {
    if (seen.has(question)) throw new Error(`${question}: the question is there twice`)
    seen.add(question)
  }
  return questions
}

function judgement(answer: string, collection: Collection, line: number): Judgement {
  const parts = /^([^#]+)(?:#(.+))?=([123])$/.exec(answer.trim())
  if (parts === null) throw new Error(`line ${line}: "${answer}" is not FILE#SECTION=GRADE`)
  const [, file = '', section = null, grade] = parts
  const text = collection.get(file)
  if (text === undefined) throw new Error(`line ${line}: ${file} is not in the collection`)
  if (section !== null && !headings(text).some(heading => heading.startsWith(plain(section))))
    throw new Error(`line ${line}: ${file} has no section that begins with ${section}`)
  return { file, section, grade: Number(grade) }
}

/** Grade of a file: the highest of its judgements. */
export function gradeOfFile({ judgements }: JudgedQuestion, file: string): number {
  return Math.max(0, ...judgements.filter(each => each.file === file).map(({ grade }) => grade))
}

/** Grade of lines of a file: the highest of the judgements whose section they contain or are a part of. */
export function gradeOfPassage(
  { judgements }: JudgedQuestion,
  file: string,
  text: string,
  headingPath: string
): number {
  const found = [...headings(text), ...headingPath.split(' > ').map(plain)]
  return Math.max(
    0,
    ...judgements
      .filter(
        each =>
          each.file === file &&
          (each.section === null || found.some(name => name.startsWith(plain(each.section ?? ''))))
      )
      .map(({ grade }) => grade)
  )
}

function headings(text: string): readonly string[] {
  return [...text.matchAll(/^#{1,6} +(.+?)\s*$/gm)].map(([, heading = '']) => plain(heading))
}

/** Heading without marks of code, links and HTML. */
function plain(heading: string): string {
  return heading.replaceAll(/<[^>]*>|[`[\]]/g, '').trim()
}
