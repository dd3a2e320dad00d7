/* The value of a feature in units of its scale. Beyond two thirds of its limit it approaches the limit. */
static real scaled(const context *self, real value, int f)
{
    const double distance = (double)value - row_center[f], knee = ROW_KNEE * row_limit[f], room = row_limit[f] - knee;
    const double low = distance > -knee ? distance : -knee;
    const double clipped = low < knee ? low : knee, rest = distance - clipped;
    const double more = room - room / (1.0 + fabs(rest) / room);
    (void)self;
    return (real)((clipped + (rest < 0.0 ? -more : more)) / row_scale[f]);
}
