/**
 * Codes of other compilers of the language that have no diagnostic here, each with the reason. No diagnostic may use
 * one with another meaning. `…/*` covers a whole family.
 */
export const reservedCodes: Readonly<Record<string, string>> = {
  E028: 'It refuses workflows, activities and schedules, which the language has.',
  E200: 'In `url`, duplicate names are `typecheck.duplicate_name`.',
  E201: 'In `url`, unknown types are `typecheck.undefined_type`.',
  E202: 'In `url`, syntax errors are `E0001`.',
  'vox/ai/unknown-task-category': 'Categories of tasks belong to the model selection, not to the language.',
  'vox/async/missing-arm': 'Views have no arms for values that are still loading.',
  'vox/auth/*': '`@auth` is not enforced yet: its error is `auth.not_enforced`.',
  'vox/cors/*': '`@cors` is not enforced yet: its error is `auth.not_enforced`.',
  'vox/embed/*': '`@embed` is a mark for other tools.',
  'vox/fixture/stale-hole': 'The compiler does not fill holes, so no filling gets stale.',
  'vox/layer/*': '`@layer` is a mark for other tools.',
  'vox/pii/*': '`@pii` is a mark for other tools.',
  'vox/remote/*': '`@remote` is a mark for other tools.',
  'vox/search/*': 'Each search decides which columns it reads.',
  'vox/tokens/*': 'Colours are `lint.theme_contrast`, and values `web.token_value`.',
  'vox/types/*': 'Types have the codes `typecheck.…`.',
  'vox/webhook/*': '`@webhook` is not enforced yet: its error is `auth.not_enforced`.',
  'vox/workflow/side-effect-outside-workflow': 'Outside workflows, `side_effect { … }` is a plain block.',
  'vox/workflow/with-id-non-deterministic': 'A non-deterministic id is `vox/workflow/non-deterministic-call`.'
}
