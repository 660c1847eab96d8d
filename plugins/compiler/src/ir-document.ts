import { createHash } from 'node:crypto'
import { type IrDocument, irDocumentSchema } from '@svc/contracts'
import { schemaCheck } from '@svc/plugin-sdk/check'
import manifest from '../package.json' with { type: 'json' }
import { compilerErrors } from './errors.ts'
import { codeOfModule } from './hir/code.ts'
import { lowerModule } from './hir/module.ts'
import { knownTypes, lower } from './ir/lower.ts'
import { printJson } from './ir/print-json.ts'
import { documentTreeOf } from './react/web-tree.ts'
import type { Module } from './syntax/ast.ts'
import { typesOf } from './types/check-module.ts'
import { webIrDocument } from './web-ir/document.ts'

const check = schemaCheck(irDocumentSchema)

/**
 * Creates the IR document of a module without errors. The hash is that of `source` as UTF-8. Two runs differ only in
 * `generatedAt`. Throws `CMP_IR_INVALID` if the document does not match its schema.
 */
export function irDocument(module: Module, source: string, generatedAt: Date): IrDocument {
  const types = typesOf(module)
  const hir = lowerModule(codeOfModule(types, source), source, { infersResults: true })
  const tree = documentTreeOf(module, source, hir)
  const document = {
    version: '2.0.0',
    metadata: {
      compiler_version: manifest.version,
      generated_at: generatedAt.toISOString().replace('Z', '+00:00'),
      source_hash: createHash('sha3-256').update(source).digest('hex')
    },
    module: { ...lower(module, source, knownTypes(types)), web_ir: webIrDocument(module, hir, tree).ir }
  }
  const checked = check(document)
  if (checked.ok) return document as unknown as IrDocument
  const [problem] = checked.errors
  const at = problem?.instancePath || '(root)'
  throw compilerErrors.create(
    'CMP_IR_INVALID',
    `the IR document does not match its schema at ${at}: ${problem?.message}`,
    {
      hint: 'nothing was printed; please report the file as a bug in the compiler',
      data: { at }
    }
  )
}

/** Prints a document with a line break at its end. */
export function printIr(document: IrDocument): string {
  return `${printJson(document)}\n`
}
