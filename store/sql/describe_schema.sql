-- Describe everything the current schema enforces, one line each, in words two databases can be compared by.
WITH here AS (
  SELECT oid FROM pg_namespace WHERE nspname = current_schema()
), tables AS (
  SELECT class.oid, class.relname AS name FROM pg_class class JOIN here ON here.oid = class.relnamespace
  WHERE class.relkind IN ('r', 'p') AND class.relname <> 'alembic_version'
), columns AS (
  SELECT format('column %s.%s %s%s%s%s', tables.name, attribute.attname,
      format_type(attribute.atttypid, attribute.atttypmod),
      CASE WHEN attribute.attnotnull THEN ' not null' ELSE '' END,
      CASE attribute.attidentity WHEN 'a' THEN ' identity always' WHEN 'd' THEN ' identity by default' ELSE '' END,
      CASE WHEN fallback.oid IS NULL THEN ''
        WHEN attribute.attgenerated = 's' THEN ' stored ' || pg_get_expr(fallback.adbin, fallback.adrelid)
        ELSE ' default ' || pg_get_expr(fallback.adbin, fallback.adrelid) END) AS line
  FROM tables
  JOIN pg_attribute attribute ON attribute.attrelid = tables.oid AND attribute.attnum > 0 AND NOT attribute.attisdropped
  LEFT JOIN pg_attrdef fallback ON fallback.adrelid = tables.oid AND fallback.adnum = attribute.attnum
), constraints AS (
  -- 18 keeps NOT NULL here too; the column says it already. A trigger's name is below.
  SELECT format('constraint %s.%s %s%s', tables.name, con.conname, pg_get_constraintdef(con.oid),
      CASE WHEN con.convalidated THEN '' ELSE ' not valid' END) AS line
  FROM tables JOIN pg_constraint con ON con.conrelid = tables.oid WHERE con.contype IN ('c', 'f', 'p', 'u', 'x')
), indexes AS (
  SELECT format('index %s.%s %s', tables.name, entry.relname,
      regexp_replace(pg_get_indexdef(entry.oid), ' ON \S+ ', ' ON ')) AS line
  FROM tables
  JOIN pg_index index ON index.indrelid = tables.oid AND index.indisvalid
  JOIN pg_class entry ON entry.oid = index.indexrelid
), triggers AS (
  SELECT format('trigger %s.%s %s%s', tables.name, trigger.tgname, pg_get_triggerdef(trigger.oid, true),
      CASE trigger.tgenabled WHEN 'O' THEN '' ELSE ' switched to ' || trigger.tgenabled::text END) AS line
  FROM tables JOIN pg_trigger trigger ON trigger.tgrelid = tables.oid AND NOT trigger.tgisinternal
), functions AS (
  SELECT format('function %s(%s) %s%s%s %s', proc.proname, pg_get_function_identity_arguments(proc.oid),
      language.lanname, CASE WHEN proc.prosecdef THEN ' as its owner' ELSE '' END,
      ' ' || coalesce(array_to_string(proc.proconfig, ' '), ''), md5(proc.prosrc)) AS line
  FROM here JOIN pg_proc proc ON proc.pronamespace = here.oid JOIN pg_language language ON language.oid = proc.prolang
  WHERE NOT EXISTS (SELECT FROM pg_depend WHERE objid = proc.oid AND deptype = 'e')
), views AS (
  SELECT format('view %s %s', class.relname, md5(pg_get_viewdef(class.oid))) AS line
  FROM here JOIN pg_class class ON class.relnamespace = here.oid AND class.relkind IN ('v', 'm')
)
SELECT line FROM columns UNION ALL SELECT line FROM constraints UNION ALL SELECT line FROM indexes
UNION ALL SELECT line FROM triggers UNION ALL SELECT line FROM functions UNION ALL SELECT line FROM views
ORDER BY line;
