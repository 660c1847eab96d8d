export type {
  HirArgument,
  HirAttribute,
  HirBinaryOperator,
  HirBlock,
  HirDbTableOp,
  HirExpression,
  HirExtension,
  HirMatchArm,
  HirPattern,
  HirStatement,
  HirType
} from '@svc/contracts'
