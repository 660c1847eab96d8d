import { STUB_SEVERITIES } from '@svc/contracts'
import { type CommandDescriptor, t } from '@svc/plugin-sdk'
import { SCANNED_EXTENSIONS } from './engine/language.ts'
import { RUN_MODES } from './policy/severity.ts'
import { FORMATS } from './report/formats.ts'

const text = (description: string) => t.optional(t.string({ minLength: 1, description }))
const flag = (description: string) => t.boolean({ default: false, description })

export const stubCheckCommand: CommandDescriptor = {
  command: 'stub-check',
  summary: 'Find placeholders, hazards and copied code in source files',
  project: true,
  input: t.object({
    path: t.string({ default: '.', minLength: 1, description: 'File or folder to scan.' }),
    mode: t.enum(RUN_MODES, {
      default: 'legacy',
      description:
        'What fails: legacy from error, enforce-strict from warning, enforce-warn from critical, audit nothing.'
    }),
    format: t.optional(t.enum(FORMATS, { description: 'Output format. Default: terminal; with --json, JSON.' })),
    severity: t.enum(STUB_SEVERITIES, { default: 'warning', description: 'Least severity that is shown.' }),
    suggest_fixes: flag('Show how each finding can be fixed.'),
    rules: text('Rules or groups to apply, separated by commas. Default: all.'),
    exclude: t.array(t.string({ minLength: 1 }), { default: [], description: 'Glob patterns of paths to leave out.' }),
    langs: text(`File extensions to scan, separated by commas: ${Object.keys(SCANNED_EXTENSIONS).join(', ')}.`),
    baseline: text('Fail only for findings that are not in this baseline: a JSON file, or a name in the database.'),
    save_baseline: text('Save the findings as a baseline: a JSON file, or a name in the database.'),
    task_list: flag('Print a list of tasks instead of findings, and keep it in the database.'),
    import_suppressions: text('Import suppressions from a toestub.toml into the database before the scan.'),
    ingest_findings: text('Report the findings of this JSON file instead of scanning.'),
    fix_pipeline: flag('Show the fixes that can be applied automatically.'),
    fix_pipeline_apply: flag('Write the fixes of --fix-pipeline.'),
    gate: t.optional(t.enum(['ratchet', 'warnings'], { description: 'Compare counts by rule with a budget file.' })),
    gate_budget_path: text('Budget file of --gate: an array of rule_id and count.')
  }),
  args: ['path'],
  aliases: { format: 'f', severity: 's' }
}
