/**
 * Codes of other compilers of the language that are not used here, each with the reason. No diagnostic may reuse one
 * with another meaning. `…/*` stands for a whole family.
 */
export const reservedCodes: Readonly<Record<string, string>> = {
  E028: 'The code rejects workflows, activities and schedules, which this compiler supports.',
  E200: 'In `url`, duplicate addresses and parameters are `typecheck.duplicate_name`.',
  E201: 'In `url`, unknown types are `typecheck.undefined_type`.',
  E202: 'In `url`, syntax errors are `E0001`.',
  'vox/ai/unknown-task-category': 'Task categories are part of the model selection, not of the language.',
  'vox/async/missing-arm': 'Views have no separate arms for loading values.',
  'vox/embed/*': '`@embed` is only for other tools.',
  'vox/fixture/stale-hole': 'The compiler does not fill holes, so a hole cannot become stale.',
  'vox/layer/*': '`@layer` is only for other tools.',
  'vox/pii/*': '`@pii` is only for other tools.',
  'vox/remote/*': '`@remote` is only for other tools.',
  'vox/search/*': 'Each search specifies its columns.',
  'vox/tokens/*': 'Errors of colours are `lint.theme_contrast`, errors of values `web.token_value`.',
  'vox/types/*': 'Type errors have the codes `typecheck.…`.',
  'vox/workflow/side-effect-outside-workflow': 'Outside workflows, `side_effect { … }` is a plain block.',
  'vox/workflow/with-id-non-deterministic': 'A non-deterministic id is `vox/workflow/non-deterministic-call`.'
}
