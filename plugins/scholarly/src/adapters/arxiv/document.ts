import type { PublicationManifest } from '@svc/contracts'
import { collapse, invalid, type Work } from '../work.ts'
import { bibliography } from './bibliography.ts'
import type { Findings } from './findings.ts'
import { markdownTokens } from './markdown.ts'
import { MAX_MATRIX_COLUMNS } from './math.ts'
import { type Figure, TexWriter } from './writer.ts'

const MAX_BODY_CHARACTERS = 1_000_000

export interface TexDocument {
  readonly tex: string
  readonly figures: readonly Figure[]
}

/**
 * Returns main.tex of a publication. Text is escaped, and formulas are parsed: the document contains only commands that
 * this program writes.
 */
export function texDocument(manifest: PublicationManifest, work: Work, findings: Findings): TexDocument {
  if (manifest.body_markdown.length > MAX_BODY_CHARACTERS)
    throw invalid(`the body has more than ${MAX_BODY_CHARACTERS} characters`)
  const writer = new TexWriter(work, findings)
  let body: string
  try {
    body = writer.body(markdownTokens(manifest.body_markdown), manifest.title)
  } catch (error) {
    if (error instanceof RangeError) throw invalid('the body is nested too deeply')
    throw error
  }
  const abstract = writer.paragraphs(manifest.abstract_text ?? '')
  const authors = work.creators.map(({ family, given, affiliation }) => {
    const name = writer.text(given === null ? family : `${given} ${family}`)
    return affiliation === null ? name : `${name}\\\\{}\n{\\small ${writer.text(affiliation)}}`
  })
  const lines = [
    '\\documentclass[11pt]{article}',
    '\\pdfoutput=1',
    '\\usepackage[T1]{fontenc}',
    '\\usepackage[utf8]{inputenc}',
    '\\usepackage{lmodern}',
    '\\usepackage{textcomp}',
    '\\usepackage{amsmath}',
    '\\usepackage{amssymb}',
    '\\usepackage{graphicx}',
    '\\usepackage[hidelinks]{hyperref}',
    '\\emergencystretch=3em',
    `\\setcounter{MaxMatrixCols}{${MAX_MATRIX_COLUMNS}}`,
    '',
    `\\title{${writer.text(collapse(manifest.title))}}`,
    `\\author{${authors.join('\n\\and\n') || '~'}}`,
    `\\date{${writer.text(work.date)}}`,
    '',
    '\\begin{document}',
    '\\maketitle',
    ...(abstract === '' ? [] : ['', '\\begin{abstract}', abstract, '\\end{abstract}']),
    '',
    body,
    ...(work.citations.length === 0 ? [] : ['', bibliography(work.citations, text => writer.text(text))]),
    '',
    '\\end{document}',
    ''
  ]
  return { tex: lines.join('\n').replace(/\n{3,}/g, '\n\n'), figures: writer.figures }
}
