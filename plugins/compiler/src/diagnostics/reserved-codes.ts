/**
 * Codes of other compilers of the language that have no diagnostic here, each with the reason. No diagnostic may use
 * one with another meaning. `…/*` covers a whole family.
 */
export const reservedCodes: Readonly<Record<string, string>> = {
  E028: 'It refuses workflows, activities and schedules, which the language has.',
  E200: 'Of `url`: names that are given twice are `typecheck.duplicate_name`.',
  E201: 'Of `url`: types that there are not are `typecheck.undefined_type`.',
  E202: 'Of `url`: what does not follow the grammar is `E0001`.',
  'vox/ai/unknown-task-category': 'Categories of tasks belong to the model selection, not to the language.',
  'vox/async/missing-arm': 'Views have no arms for what is still being fetched.',
  'vox/auth/*': '`@auth` is not enforced yet: its error is `auth.not_enforced`.',
  'vox/cors/*': '`@cors` is not enforced yet: its error is `auth.not_enforced`.',
  'vox/embed/*': '`@embed` is a mark for other tools.',
  'vox/fixture/stale-hole': 'Nothing fills holes, so that no filling gets old.',
  'vox/layer/*': '`@layer` is a mark for other tools.',
  'vox/pii/*': '`@pii` is a mark for other tools.',
  'vox/remote/*': '`@remote` is a mark for other tools.',
  'vox/search/*': 'What may be searched is decided when a search is made.',
  'vox/tokens/*': 'Colours are `lint.theme_contrast`, and values `web.token_value`.',
  'vox/types/*': 'Types have the codes `typecheck.…`.',
  'vox/webhook/*': '`@webhook` is not enforced yet: its error is `auth.not_enforced`.',
  'vox/workflow/side-effect-outside-workflow': 'Outside of workflows `side_effect { … }` is a block.',
  'vox/workflow/with-id-non-deterministic': 'An id that differs each time is `vox/workflow/non-deterministic-call`.'
}
